# What one types: run, test, lock, and the slower measurements.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What torch and FAISS are for, cpu or cuda; an environment stays as it was made.
# FAISS's package for GPUs is for x86_64 alone.
TARGET := $(or $(DEVICE),$(if $(wildcard $(VENV)/cuda.options),cuda,cpu))
OPTIONS := $(VENV)/$(TARGET).options
EXCLUDED := $(VENV)/excluded.txt
PIP := $(BIN)/uv pip install --python $(BIN)/python --constraint requirements.lock
UV = $(PIP) --quiet $$(cat $(OPTIONS))

# Where this is set, every process compiles thousands of files of torch and others again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help run install wheel test check format tests test-system test-cluster test-slow test-gpu test-release coverage lock client client-ts settings docs dist image clean

help:  ## Say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: install  ## Serve on 127.0.0.1:8000; PHOTOS=folder indexes it, DEMO=products shows a shop, MODEL=hub id or folder takes an encoder
	$(if $(filter-out shipped,$(MODEL)),$(UV) --editable ".[pretrained]")
	$(BIN)/tessera serve $(if $(PHOTOS),--photos "$(PHOTOS)") $(if $(DEMO),--demo "$(DEMO)") $(if $(MODEL),--model "$(MODEL)") $(if $(PORT),--port $(PORT))

install: $(VENV)/$(TARGET).stamp  ## Install alone; EXTRAS=video,parquet adds extras, DEVICE=cuda takes NVIDIA GPUs
	$(if $(EXTRAS),$(UV) --editable ".[$(EXTRAS)]")

wheel: $(VENV)/uv.stamp  ## Build the package into dist/, which can be installed elsewhere
	$(BIN)/uv build --quiet --wheel --out-dir dist

test: check  ## Format, lint, types, imports and the normal tests
	$(BIN)/pytest -m "not system and not slow and not gpu and not cluster" --numprocesses 3 --dist loadfile --no-loadscope-reorder

tests: $(VENV)/test.stamp  ## The normal and the system tests in one run, without `check`
	$(BIN)/pytest -m "not slow and not gpu and not cluster" --numprocesses 3 --dist loadfile --no-loadscope-reorder --durations 25

check: $(VENV)/test.stamp  ## Format, lint, types and import contracts
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .

format: $(VENV)/test.stamp  ## Put the code in form
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

test-system: $(VENV)/test.stamp  ## The tests that start services, browsers and databases
	$(BIN)/pytest -m "system and not slow and not gpu and not cluster" --numprocesses 3 --dist loadfile --no-loadscope-reorder

test-cluster: $(VENV)/test.stamp  ## The tests that need a Ray cluster, which they start
	$(BIN)/pytest -m "cluster and not slow" --timeout 600

test-slow: $(VENV)/test.stamp  ## The tests that take minutes
	$(BIN)/pytest -m "slow and not gpu" --timeout 3600

test-gpu: $(VENV)/test.stamp  ## The tests that need a CUDA device
	$(BIN)/pytest -m gpu --timeout 3600

test-release: $(VENV)/test.stamp  ## The checks of the chart, the workflows and the Dockerfile
	$(UV) --group release
	$(BIN)/hadolint Dockerfile
	$(BIN)/zizmor --quiet --offline .github/workflows
	$(BIN)/pytest tests/deploy

coverage: $(VENV)/test.stamp  ## The normal and system tests, and the lines and branches they miss
	$(BIN)/pytest -p pytest_cov -m "not slow and not gpu and not cluster" --cov --cov-report=term-missing:skip-covered

lock: $(VENV)/uv.stamp  ## Pin every dependency again, for all platforms
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --group dev --group cuda \
	  --no-annotate --no-header --upgrade --output-file requirements.lock pyproject.toml

client: $(VENV)/test.stamp  ## Write the client's models from the OpenAPI document
	PYTHONPATH=. $(BIN)/python client/make_models.py

client-ts: $(VENV)/test.stamp  ## Write the TypeScript client's types from the OpenAPI document, and build it
	npm ci --prefix client-ts --no-audit --no-fund
	PYTHONPATH=. $(BIN)/python client-ts/make_types.py
	npm run build --prefix client-ts

settings: $(VENV)/test.stamp  ## Write the page of settings from their descriptions
	PYTHONPATH=. $(BIN)/python -m app.settings_page

docs: $(VENV)/test.stamp  ## Build the documentation site into build/site
	$(BIN)/python docs/make_site.py

dist: $(VENV)/uv.stamp  ## Build and check the packages, their bill of materials and a release's notes into dist/
	rm -rf dist && mkdir dist
	$(BIN)/uv build --quiet --out-dir dist .
	$(BIN)/uv build --quiet --out-dir dist client
	$(BIN)/uv tool run --quiet twine check --strict dist/*.whl dist/*.tar.gz
	npm ci --prefix client-ts --no-audit --no-fund && cd client-ts && npm pack --pack-destination ../dist
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header \
	  --constraint requirements.lock --output-file dist/requirements.txt pyproject.toml
	$(BIN)/uv tool run --quiet --from cyclonedx-bom cyclonedx-py requirements dist/requirements.txt \
	  --pyproject pyproject.toml --output-reproducible --output-file dist/sbom.cdx.json
	$(BIN)/python deploy/write_notes.py $(VERSION) > dist/notes.md

image:  ## Build the container image tessera; DEVICE=cuda for NVIDIA GPUs, EXTRAS=video,ocr adds extras
	docker build --build-arg DEVICE=$(or $(DEVICE),cpu) --build-arg EXTRAS=$(EXTRAS) -t tessera$(if $(filter cuda,$(DEVICE)),:cuda) .

clean:  ## Remove the environment and caches, never data
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(VENV)/uv.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Tessera needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "On Debian: apt install python3-venv"; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check uv
	@touch $@

# Where the index of torch for CPUs cannot be reached, the build of the registry works, too, with CUDA's libraries;
# Triton, which is a gigabyte and compiles for GPUs, is left out.
$(VENV)/cpu.options: | $(VENV)/uv.stamp
	@test ! -e $(VENV)/cuda.options || { echo "$(VENV) has CUDA; first: make clean"; exit 1; }
	@if UV_HTTP_RETRIES=0 $(PIP) --quiet --dry-run --no-deps --torch-backend cpu torch torchvision; then \
	  echo "--torch-backend cpu" > $@; \
	else \
	  echo "torch for CPUs cannot be fetched; the one for GPUs takes its place, with 3 GB of CUDA"; \
	  echo triton > $(EXCLUDED); echo "--excludes $(EXCLUDED)" > $@; \
	fi

$(VENV)/cuda.options: | $(VENV)/uv.stamp
	@test ! -e $(VENV)/cpu.options || { echo "$(VENV) is for CPUs; first: make clean"; exit 1; }
	@{ test "$$(uname -m)" != x86_64 || echo faiss-cpu; } > $(EXCLUDED)
	@echo "--group cuda --excludes $(EXCLUDED)" > $@

$(VENV)/$(TARGET).stamp: requirements.lock pyproject.toml | $(OPTIONS)
	@echo "Installing pinned dependencies ..."
	$(UV) --editable ".$(if $(filter cpu,$(TARGET)),[openvino])"
	@touch $@

$(VENV)/test.stamp: $(VENV)/$(TARGET).stamp
	$(UV) --group dev
	@touch $@
