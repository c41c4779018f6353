"""Texts as searches of stored sentences: times and recall.

    python -m benchmarks.service.sentence_search flickr30k_sentences/sentences.txt.gz

The file has a sentence a line. The first --count are stored, five an item, and searched in this
process for other ones: in the engine with texts that are embedded already, and over HTTP on
127.0.0.1 with embedding, links and JSON. On a busy machine the processor's time tells more. --data
keeps the folder, so that a later run stores nothing. Every hundredth stored sentence is searched,
too: it has to be the first hit.
"""

from __future__ import annotations

import argparse
import gzip
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import torch
import uvicorn

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.http import server as http_server
from app.main import create_app
from app.settings import Settings
from benchmarks.service import client_process
from index.search.requests import Request

TOGETHER, LIMIT = 5, 10  # sentences of an item, and hits
PUT = 100  # items that are stored at a time
COLLECTION = "default"


def main() -> None:
    """Store missing sentences, search, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sentences", type=Path, help="a sentence a line, perhaps .gz")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--data", type=Path, help="a data folder to keep")
    parser.add_argument("--threads", type=int, default=1, help="of the models")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    lines = read_lines(options.sentences, options.count + options.queries)
    stored, asked = lines[: options.count], lines[options.count :]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            data=options.data or Path(folder), captioner=None, region_captioner=None, grounder=None
        )
        engine = Engine.load(settings)
        store(engine, stored)
        engine.serve()
        report_engine(engine, asked)
        report_first(engine, stored[::100])
        with (
            serve(settings, engine) as address,
            client_process.connect(address, "/search/text") as post,
        ):
            body = {"limit": LIMIT}
            report(
                "HTTP, with embedding and links", asked, lambda text: post(body | {"text": text})
            )
        engine.close()


def read_lines(file: Path, count: int) -> list[str]:
    """Read the first different lines of a file."""
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    different = dict.fromkeys(filter(None, map(str.strip, data.decode().splitlines())))
    return list(islice(different, count))


def store(engine: Engine, sentences: Sequence[str]) -> None:
    """Store missing sentences, and build segments."""
    groups = [tuple(sentences[at : at + TOGETHER]) for at in range(0, len(sentences), TOGETHER)]
    home = engine.open(COLLECTION, create=True)
    for at in range(engine.catalog.count(home), len(groups), PUT):
        drafts = [
            Draft(f"{at + number:06}", sentences=group)
            for number, group in enumerate(groups[at : at + PUT])
        ]
        engine.catalog.put_many(home, engine.embed(drafts))
    engine.indexes.build()


def report_engine(engine: Engine, texts: Sequence[str]) -> None:
    """Print times of searches by embedded texts, and their recall."""
    requests = {
        text: Request("sentences", engine.models.query(text, whole=True), limit=LIMIT)
        for text in texts
    }
    exact = {text: replace(request, exact=True) for text, request in requests.items()}
    report("engine", texts, lambda text: engine.search(COLLECTION, requests[text]))
    report("engine, exact", texts, lambda text: engine.search(COLLECTION, exact[text]))
    audit = engine.audit(COLLECTION, list(requests.values()))
    answer, _ = engine.search(COLLECTION, requests[texts[0]])
    print(
        f"rows {answer.rows:,}, candidates {answer.candidates:,}; "
        f"recall@{LIMIT} of the exact hits {audit.recall:.4f}, least {audit.worst:.2f}"
    )


def report_first(engine: Engine, texts: Sequence[str]) -> None:
    """Print the number of sentences at their own first rank."""
    first = 0
    for text in texts:
        request = Request("sentences", engine.models.query(text, whole=True), limit=1)
        answer, items = engine.search(COLLECTION, request)
        (hit,) = answer.hits
        first += items[hit.item].sentences[hit.position] == text
    print(f"itself first: {first} of {len(texts)}")


def report(name: str, texts: Sequence[str], search: Callable[[str], object]) -> None:
    """Print the times of warm searches, and the processor's share."""
    search(texts[0])
    times, used = list[float](), list[float]()
    for text in texts:
        began, before = perf_counter(), process_time()
        search(text)
        times.append(1_000 * (perf_counter() - began))
        used.append(1_000 * (process_time() - before))
    late = sorted(times)[int(0.95 * len(times))]
    print(f"{name}: p50 {median(times):.1f} ms, p95 {late:.1f} ms; processor {median(used):.1f} ms")


@contextmanager
def serve(settings: Settings, engine: Engine) -> Iterator[str]:
    """Serve a warm engine on a free port; give the address."""
    engine.models.warm_up()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = http_server.options(settings)
    config = uvicorn.Config(create_app(settings, engine), port=port, log_level="error", **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{port}"
    while not server.started:
        thread.join(0.05)
    yield address
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    main()
