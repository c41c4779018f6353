"""Speed of captions of uploads, by beam.

The photo of 1 MP is served without and with regions.

    python -m benchmarks.service.caption_speed --rounds 20 --threads 2 --beams 5 7

A service in its own process answers one request after another. The output has medians in
milliseconds of the answer, of the service's processor time, and of the stages in its metrics.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from statistics import median

import httpx2
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from app import demos
from app.imports.sources import ItemSource
from benchmarks.service.start_speed import answers, processor, running
from models.registry import BEAM

PIXELS = 1_000_000
REGIONS = 19
STAGES = "tessera_stage_duration_seconds"


@dataclass(frozen=True, slots=True)
class RunningService:
    """A running service: its process, and a client."""

    process: int
    client: httpx2.Client

    def stages(self) -> dict[str, float]:
        """Seconds of each stage since the service began."""
        text = self.client.get("/metrics").text
        return {
            sample.labels["stage"]: sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == f"{STAGES}_sum"
        }

    def caption(self, photo: bytes, beam: int, regions: int) -> dict[str, float]:
        """Milliseconds of one answer and of its parts."""
        before, computed = self.stages(), processor(self.process)
        began = time.perf_counter()
        fields = {"beam": str(beam), "regions": str(regions)}
        answer = self.client.post("/caption", files={"image": photo}, data=fields)
        took = {"answer": time.perf_counter() - began}
        answer.raise_for_status()
        took["processor"] = processor(self.process) - computed
        took |= {name: now - before.get(name, 0.0) for name, now in self.stages().items()}
        return {name: 1000 * seconds for name, seconds in took.items() if seconds}


@contextmanager
def service(threads: int) -> Iterator[RunningService]:
    """A service over an empty folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as data:
        os.environ["TESSERA_THREADS"] = str(threads)
        command = ("serve", "--no-sample", "--data", data, "--port", str(port))
        with running(*command) as child, httpx2.Client(base_url=address, timeout=60) as client:
            while not answers(f"{address}/readyz"):
                assert child.poll() is None, "the service ended"
                time.sleep(0.1)
            yield RunningService(child.pid, client)


def photo() -> bytes:
    """A sample photo with so many pixels, as a JPEG."""
    sources = (source for source in demos.PHOTOS.sources() if isinstance(source, ItemSource))
    source = next(source for source in sources if source.id == "bridge")
    image = Image.open(str(source.photos[0])).convert("RGB")
    zoom = (PIXELS / (image.width * image.height)) ** 0.5
    file = BytesIO()
    image.resize((round(image.width * zoom), round(image.height * zoom))).save(file, "JPEG")
    return file.getvalue()


def main() -> None:
    """Print JSON of captions and of all regions, by beam."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--beams", type=int, nargs="+", default=[BEAM])
    chosen = options.parse_args()
    upload = photo()
    with service(chosen.threads) as running_service:
        loaded = running_service.client.get("/model").json()
        counts = [0, REGIONS] if loaded["region_captioner"] else [0]
        kinds = [(beam, regions) for beam in chosen.beams for regions in counts]
        for kind in kinds:
            running_service.caption(upload, *kind)  # memory and caches
        rounds = [
            [running_service.caption(upload, *kind) for kind in kinds] for _ in range(chosen.rounds)
        ]
    for at, (beam, regions) in enumerate(kinds):
        names = rounds[0][at]
        medians = {
            name: round(median(round_[at].get(name, 0) for round_ in rounds)) for name in names
        }
        print(json.dumps({"beam": beam, "regions": regions, "milliseconds": medians}))


if __name__ == "__main__":
    main()
