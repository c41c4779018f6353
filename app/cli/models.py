"""The command `models`: models, and checkpoints in use or shipped."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.cli.options import plain_errors, settings_for


def models() -> None:
    """List models, and checkpoints in use or shipped."""
    settings = settings_for()
    from models import header, registry, shipped

    table = Table("kind", "model", "checkpoint", "fingerprint")
    for kind in registry.KINDS:
        for name in registry.names(kind):
            table.add_row(kind, name, "", "")
    chosen = [
        path
        for path in (
            settings.matcher,
            settings.captioner,
            settings.region_captioner,
            settings.grounder,
        )
        if path and path.is_file()
    ]
    for path in sorted({*shipped.PRETRAINED.glob("*.safetensors"), *chosen}):
        with plain_errors():
            described = header.read(path)
            fingerprint = header.fingerprint(path)
        table.add_row(described["kind"], described["name"], escape(str(path)), fingerprint)
    Console().print(table)
