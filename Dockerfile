# Two stages: the first installs pinned dependencies, the second carries them and nothing else.
FROM python:3.11-slim AS build
RUN python -m venv /opt/tessera && /opt/tessera/bin/pip install --no-cache-dir uv
WORKDIR /src
COPY pyproject.toml requirements.lock README.md LICENSE tessera.py ./
COPY app app
COPY index index
COPY models models
COPY training training
RUN /opt/tessera/bin/uv pip install --no-cache --compile-bytecode \
      --python /opt/tessera/bin/python --constraint requirements.lock .

FROM python:3.11-slim
# libgomp is OpenMP's runtime, which FAISS and torch use; DejaVu draws labels beyond ASCII.
RUN apt-get update \
 && apt-get install -y --no-install-recommends libgomp1 fonts-dejavu-core \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 tessera \
 && install -d -o tessera -g tessera /data
COPY --from=build /opt/tessera /opt/tessera
USER tessera
WORKDIR /data
ENV PATH=/opt/tessera/bin:$PATH \
    TESSERA_DATA=/data \
    TESSERA_HOST=0.0.0.0 \
    NUMBA_CACHE_DIR=/tmp/numba
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
ENTRYPOINT ["tessera"]
CMD ["serve"]
