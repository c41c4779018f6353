"""Parquet as lines of JSON, written by a process with bounded memory.

A few KB of Parquet may expand to 10 GB, and a broken file may crash its reader.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64encode
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

from models import extras

LONGEST_ROW = 2**22  # bytes of texts and metadata
BLOCK = 64  # rows that are read at a time
MEMORY = 2**31  # bytes of addresses, of which the libraries take a part
MOST_ROWS = 64  # for each byte of the file: more are there to fill a disk
MISSING = f"Parquet needs pyarrow: {extras.install('parquet')}"
ENVIRONMENT = {
    "PYTHONPATH": str(Path(__file__).parents[__name__.count(".")]),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True)
class ParquetHead:
    """The columns to read, and notes on the others."""

    columns: list[str]
    notes: tuple[str, ...]


class Parquet:
    """A process to write a file's rows as lines of JSON."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", __name__, str(file), str(MEMORY)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | ENVIRONMENT,
        )
        assert self._process.stdout is not None
        self.output: IO[bytes] = self._process.stdout

    def __enter__(self) -> Parquet:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def read_head(self) -> ParquetHead:
        """Read columns and notes; ValueError if the file cannot be read."""
        line = self.output.readline()
        if not line:
            raise ValueError(f"{self.file} cannot be read as Parquet: {self.read_failure()}")
        columns, notes = json.loads(line)
        return ParquetHead(columns, tuple(notes))

    def read_failure(self) -> str:
        """Return the reason for the process's early end, or ""."""
        assert self._process.stderr is not None
        message = self._process.stderr.read(10_000).decode("utf-8", "replace").strip()
        if self._process.wait() == 0:
            return ""
        return message or f"reading it takes more than {MEMORY:,} bytes of memory, or it is broken"


def write(file: Path, output: IO[str]) -> None:
    """Write a file's head and its rows.

    ValueError if it cannot be read.
    """
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as missing:
        raise ValueError(MISSING) from missing
    table: Any = ParquetFile(file, pre_buffer=False, buffer_size=2**20)
    rows, size = table.metadata.num_rows, file.stat().st_size
    if rows > MOST_ROWS * size:
        raise ValueError(f"it claims {rows:,} rows in {size:,} bytes")
    read, left_out = split_columns(table)
    names = list(dict.fromkeys(path.partition(".")[0] for path in read))
    if len(set(table.schema_arrow.names)) < len(table.schema_arrow.names):
        raise ValueError(f"two columns have the same name; there are {', '.join(names):.1000}")
    notes = [f"the column {path!r:.100} holds bytes and is left out" for path in left_out]
    print(json.dumps([names, notes]), file=output)
    batches = table.iter_batches(batch_size=BLOCK, columns=read, use_threads=False)
    for batch in batches:
        batch = widen_floats(drop_nanoseconds(batch))
        for at in range(batch.num_rows):
            print(encode_row(batch.slice(at, 1)), file=output)


def drop_nanoseconds(batch: Any) -> Any:
    """Convert times to microseconds, the finest of Python."""
    from pyarrow import schema

    fields = [field.with_type(coarsen(field.type)) for field in batch.schema]
    return batch.cast(schema(fields), safe=False)


def widen_floats(batch: Any) -> Any:
    """Convert columns of short floats by their decimals, as 19.99."""
    import pyarrow as pa

    for at, field in enumerate(batch.schema):
        if pa.types.is_float32(field.type):
            texts = batch.column(at).cast(pa.string())
            batch = batch.set_column(at, field.name, texts.cast(pa.float64()))
    return batch


def coarsen(kind: Any) -> Any:
    """Return a type with times in microseconds, also within lists and structs."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if pa.types.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    if pa.types.is_time64(kind) and kind.unit == "ns":
        return pa.time64("us")
    if pa.types.is_struct(kind):
        return pa.struct([part.with_type(coarsen(part.type)) for part in kind])
    if pa.types.is_map(kind):
        return pa.map_(coarsen(kind.key_type), coarsen(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        whole = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return whole(kind.value_field.with_type(coarsen(kind.value_type)))
    return kind


def split_columns(table: Any) -> tuple[list[str], list[str]]:
    """Return the paths of columns to read, and of columns of bytes.

    Bytes are read next to a path: so are photos in datasets of Hugging Face.
    """
    read, left_out = list[str](), list[str]()
    columns = [table.schema.column(number) for number in range(len(table.schema))]
    paths = {column.path for column in columns}
    for column in columns:
        binary = column.physical_type.endswith("BYTE_ARRAY")
        plain = binary and column.logical_type.type in ("NONE", "UNKNOWN")
        photo = f"{column.path.removesuffix('.bytes')}.path" in paths
        bare = plain and column.converted_type == "NONE" and not photo
        (left_out if bare else read).append(column.path)
    return read, left_out


def encode_row(row: Any) -> str:
    """Encode a row as JSON.

    A row with an error has it under an empty name.
    """
    if row.nbytes > LONGEST_ROW:
        return json.dumps({"": f"it is longer than {LONGEST_ROW:,} bytes; shorten it"})
    try:
        (cells,) = row.to_pylist()
        return json.dumps({name: simplify(value) for name, value in cells.items()})
    except (ValueError, TypeError, ImportError, RecursionError) as odd:
        return json.dumps({"": f"it has a value that JSON cannot have: {odd!s:.200}"})


def simplify(value: Any) -> Any:
    """Convert a value of Parquet and its parts to JSON's types."""
    match value:
        case Decimal():
            return float(value)
        case bytes():
            return b64encode(value).decode("ascii")
        case timedelta():
            return value.total_seconds()
        case date() | datetime() | time():
            return value.isoformat()
        case dict():
            return {name: simplify(part) for name, part in value.items()}
        case [tuple(), *_]:  # a map
            return {str(key): simplify(part) for key, part in value}
        case list():
            return [simplify(part) for part in value]
    return value


def main(file: str, memory: int) -> None:
    """Write a file's rows to standard output, within the kernel's limits."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        write(Path(file), sys.stdout)
    except MemoryError:
        sys.exit(f"reading it takes more than {memory:,} bytes of memory")
    except (ValueError, OSError) as broken:  # pyarrow's errors are such
        sys.exit(str(broken))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
