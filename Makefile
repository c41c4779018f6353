# What one types: run, test, lock, and the slower measurements.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint requirements.lock

# Where this is set, every process compiles thousands of files of torch and others again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help run test check format test-system test-cluster test-slow test-gpu coverage lock client settings image clean

help:  ## Say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: $(VENV)/run.stamp  ## Serve on 127.0.0.1:8000; PHOTOS=folder indexes it, DEMO=products shows a shop, MODEL=hub id or folder takes an encoder
	$(if $(filter-out shipped,$(MODEL)),$(UV) --editable '.[pretrained]')
	$(BIN)/tessera serve $(if $(PHOTOS),--photos "$(PHOTOS)") $(if $(DEMO),--demo "$(DEMO)") $(if $(MODEL),--model "$(MODEL)") $(if $(PORT),--port $(PORT))

test: check  ## Format, lint, types, imports and the normal tests
	$(BIN)/pytest -m "not system and not slow and not gpu and not cluster" --numprocesses 2 --dist loadfile

check: $(VENV)/test.stamp  ## Format, lint, types and import contracts
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/test.stamp  ## Put the code in form
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

test-system: $(VENV)/test.stamp  ## The tests that start services, browsers and databases
	$(BIN)/pytest -m "system and not slow and not gpu and not cluster" --numprocesses 2 --dist loadfile

test-cluster: $(VENV)/test.stamp  ## The tests that need a Ray cluster, which they start
	$(BIN)/pytest -m "cluster and not slow" --timeout 600

test-slow: $(VENV)/test.stamp  ## The tests that take minutes
	$(BIN)/pytest -m "slow and not gpu" --timeout 3600

test-gpu: $(VENV)/test.stamp  ## The tests that need a CUDA device
	$(BIN)/pytest -m gpu --timeout 3600

coverage: $(VENV)/test.stamp  ## The normal and system tests, and the lines and branches they miss
	$(BIN)/pytest -p pytest_cov -m "not slow and not gpu and not cluster" --cov --cov-report=term-missing:skip-covered

lock: $(VENV)/uv.stamp  ## Pin every dependency again, for all platforms
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --group dev \
	  --no-annotate --no-header --upgrade --output-file requirements.lock pyproject.toml

client: $(VENV)/test.stamp  ## Write the client's models from the OpenAPI document
	PYTHONPATH=. $(BIN)/python client/make_models.py

settings: $(VENV)/test.stamp  ## Write the page of settings from their descriptions
	PYTHONPATH=. $(BIN)/python -m app.settings_page

image:  ## Build the container image tessera; DEVICE=cuda for NVIDIA GPUs
	docker build --build-arg DEVICE=$(or $(DEVICE),cpu) -t tessera$(if $(filter cuda,$(DEVICE)),:cuda) .

clean:  ## Remove the environment and caches, never data
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(VENV)/uv.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Tessera needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "On Debian: apt install python3-venv"; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check uv
	@touch $@

$(VENV)/run.stamp: requirements.lock pyproject.toml | $(VENV)/uv.stamp
	@echo "Installing pinned dependencies (several GB the first time: on Linux, CUDA comes with torch) ..."
	$(UV) --editable .
	@touch $@

$(VENV)/test.stamp: $(VENV)/run.stamp
	$(UV) --group dev
	@touch $@
