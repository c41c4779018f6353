# Two stages: the first installs pinned dependencies, the second carries them and nothing else.
# The image has no CUDA; `--build-arg DEVICE=cuda` makes one for NVIDIA GPUs, `--build-arg EXTRAS=video,ocr` adds extras.
FROM python:3.11-slim AS build
ARG DEVICE=cpu
ARG EXTRAS=
RUN python -m venv /opt/tessera && /opt/tessera/bin/pip install --no-cache-dir "uv==0.13.*"
ENV PATH=/opt/tessera/bin:$PATH \
    VIRTUAL_ENV=/opt/tessera \
    UV_CONSTRAINT=requirements.lock \
    UV_COMPILE_BYTECODE=1 \
    UV_NO_CACHE=1
WORKDIR /src
COPY pyproject.toml requirements.lock README.md LICENSE tessera.py ./
COPY app app
COPY index index
COPY models models
COPY training training
# For a GPU, the torch of the registry with CUDA, and on x86_64 FAISS's package for GPUs instead of the other.
RUN if [ "$DEVICE" = cpu ]; then \
      uv pip install --torch-backend cpu ".[openvino,tracing${EXTRAS:+,$EXTRAS}]"; \
    else \
      { test "$(uname -m)" != x86_64 || echo faiss-cpu; } > /tmp/excluded && uv pip install --excludes /tmp/excluded --group cuda ".[tracing${EXTRAS:+,$EXTRAS}]"; \
    fi

FROM python:3.11-slim
# libgomp is OpenMP's runtime, which FAISS and torch use; DejaVu draws labels beyond ASCII.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends libgomp1 fonts-dejavu-core \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 tessera \
 && install -d -o tessera -g tessera /data
COPY --from=build /opt/tessera /opt/tessera
USER 1000
WORKDIR /data
ENV PATH=/opt/tessera/bin:$PATH \
    TESSERA_DATA=/data \
    TESSERA_HOST=0.0.0.0 \
    NUMBA_CACHE_DIR=/tmp/numba
VOLUME /data
EXPOSE 8000
# At the port and with the certificate of the environment: options of the command line are not known here.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
  CMD ["python", "-m", "tessera_search.app.http.probe"]
ENTRYPOINT ["tessera"]
CMD ["serve"]
