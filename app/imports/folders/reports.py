"""Reports of imports and their unread files, for services to tell."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from app.imports.folders.objects import ObjectFolder
from app.imports.progress import FOLDER
from app.imports.sources import ImportOutcome, readable

REPORTS = "reports"  # in the folder of progress
MOST_EXAMPLES = 20  # places of a kind
MOST_REFUSED = 100  # that are named
LONGEST = 2**20  # bytes of a report
NOUN = re.compile(r"\b(file|folder|link|photo)s?\b")  # what a kind counts

log = logging.getLogger(__name__)


@dataclass(slots=True)
class UnreadKind:
    """A kind of unread files, in the plural, with some of them."""

    kind: str
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the fields; the kind of a single file in the singular."""
        kind = NOUN.sub(r"\1", self.kind, count=1).replace(" them ", " it ")
        return asdict(self) | {"kind": kind if self.count == 1 else self.kind}


@dataclass(slots=True)
class ImportReport:
    """The last import of some paths: counts, and unread files."""

    paths: list[str] = field(default_factory=list)
    ended: str = ""
    counts: Counter[str] = field(default_factory=Counter)  # by status
    unread: dict[str, UnreadKind] = field(default_factory=dict)  # by kind
    refused: list[dict[str, str]] = field(default_factory=list)  # the first ones
    kept: list[str] = field(default_factory=list)  # why nothing was deleted

    def add(self, outcome: ImportOutcome) -> None:
        """Count an outcome."""
        self.counts[outcome.status] += 1
        if outcome.status == "unread":
            kind = self.unread.setdefault(outcome.reason, UnreadKind(outcome.reason))
            kind.count += 1
            if len(kind.examples) < MOST_EXAMPLES:
                kind.examples.append(outcome.place)
        elif outcome.status == "refused" and len(self.refused) < MOST_REFUSED:
            self.refused.append({"place": outcome.place, "reason": outcome.reason})

    def as_json(self) -> dict[str, Any]:
        """Return the report's fields, with plain values."""
        counts, unread = dict(self.counts), [kind.as_json() for kind in self.unread.values()]
        fields = {"paths": self.paths, "ended": self.ended, "counts": counts, "unread": unread}
        return fields | {"refused": self.refused, "kept": self.kept}

    def write(self, data: Path, collection: str) -> None:
        """Write the report of a collection's token; a full disk loses it."""
        self.ended = datetime.now(UTC).isoformat(timespec="seconds")
        digest = blake2b("\n".join([collection, *self.paths]).encode(), digest_size=16)
        file = data / FOLDER / REPORTS / f"{digest.hexdigest()}.json"
        whole = file.with_suffix(".part")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            whole.write_text(json.dumps({"collection": collection, **self.as_json()}), "utf-8")
            whole.replace(file)
        except OSError as failed:
            log.warning("the report of the import is not written: %s", failed)


def read_reports(data: Path, collection: str) -> list[ImportReport]:
    """Read the newest reports of a collection, one for each path."""
    reports = sorted(_read_all(data, collection), key=lambda report: report.ended, reverse=True)
    newest, covered = list[ImportReport](), set[str]()
    for report in reports:
        if not covered.issuperset(report.paths):
            newest.append(report)
            covered.update(report.paths)
    return newest


def _read_all(data: Path, collection: str) -> Iterator[ImportReport]:
    for file in (data / FOLDER / REPORTS).glob("*.json"):
        with suppress(OSError, ValueError, TypeError, LookupError, AttributeError):
            if file.stat().st_size <= LONGEST:
                stored = json.loads(file.read_bytes())
                if stored.pop("collection") == collection:
                    yield _parse(stored)


def _parse(stored: dict[str, Any]) -> ImportReport:
    unread = {fields["kind"]: UnreadKind(**fields) for fields in stored.pop("unread")}
    counts = Counter(stored.pop("counts"))
    return ImportReport(**stored, unread=unread, counts=counts)


def list_paths(paths: Sequence[Path | ObjectFolder]) -> list[str]:
    """Write paths as a report names them."""
    return [readable(path.resolve()) for path in paths]
