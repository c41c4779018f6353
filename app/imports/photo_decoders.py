"""Pool of processes for decoding photos.

A process beyond its limits is replaced.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from multiprocessing import Pipe
from pathlib import Path
from queue import LifoQueue
from types import TracebackType
from weakref import finalize

import numpy as np

from app.engine.drafts import PhotoFile
from app.imports import decoder_process as worker
from app.imports.file_metadata.reading import FileLimits, Sidecar
from app.imports.photo_files import digest_of
from app.settings import Settings
from app.telemetry.requests import stage
from models.types import Box
from models.vision import images
from models.vision.images import DisplayCopy
from models.vision.photo_decoding import FOOTAGE_BYTES, ImageTooLarge, too_many_bytes
from models.vision.visible_words import VisibleWord

TEXT_SECONDS = 120  # of processor time to read the text in a photo
TEXT_WAIT = 5  # factor of it that is waited for: a service is busy, and text is in no hurry
TEXT_MEMORY = 2**31  # bytes of addresses for that, besides those to decode
BUSY = 3  # factor of the time limit, as other processes use the processor too
ENVIRONMENT = {
    "PYTHONPATH": str(Path(__file__).parents[__name__.count(".")]),
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(2**20),  # so that memory of large photos is given back
}
# Others may hold passwords, and decoders read files of anyone.
SHOWN = frozenset({"PATH", "HOME", "LANG", "TZ", "TMPDIR", "TEMP", "TMP"})
SHOWN_KINDS = ("LC_", "LD_", "DYLD_", "XDG_", "PYTHON", "OMP_", "NUMBA_", "MALLOC_", "FONTCONFIG_")


@dataclass(frozen=True, slots=True)
class Allowance:
    """FileLimits of one photo: bytes, pixels, processor time and memory.

    With `text_seconds`, its text is read too, in that time and TEXT_MEMORY.
    """

    most_bytes: int
    most_pixels: int
    seconds: int
    memory: int
    footage_bytes: int = FOOTAGE_BYTES
    text_seconds: int = 0

    @classmethod
    def of(cls, settings: Settings) -> Allowance:
        """Take the limits from the settings."""
        return cls(
            settings.upload_bytes,
            settings.upload_pixels,
            settings.decode_seconds,
            settings.decode_memory,
            settings.footage_bytes,
            TEXT_SECONDS if settings.ocr else 0,
        )

    @property
    def limits(self) -> FileLimits:
        """The limits of a file in the process."""
        return FileLimits(self.most_bytes, self.most_pixels, self.footage_bytes)

    @property
    def all_memory(self) -> int:
        """The most bytes of memory of the process."""
        return self.memory + (TEXT_MEMORY if self.text_seconds else 0)


class Decoders:
    """Decodes photos in `count` processes of their own. For many threads.

    A process is started when it is first needed. `with Decoders(...) as decode: decode(data)`
    """

    def __init__(self, count: int, allowance: Allowance) -> None:
        self.allowance = allowance
        self._idle: LifoQueue[_Process | None] = LifoQueue()  # None is one that is not started yet
        self._alive = set[_Process]()
        finalize(self, _end_all, self._alive)  # if no one closes it
        for _ in range(count):
            self._idle.put(None)

    @classmethod
    def of(cls, settings: Settings) -> Decoders:
        """Make a pool for all requests with photos and one import."""
        return cls(settings.running + 1, Allowance.of(settings))

    def __call__(self, data: bytes) -> DisplayCopy:
        """Return a photo's display copy; errors are those of models.vision.images.decode."""
        return self._read(data, None).copies[0]

    def read(self, file: bytes | Path, sidecars: Sequence[Sidecar] = ()) -> PhotoFile:
        """Return a file's photos and metadata; errors are those of a call."""
        return self._read(file, sidecars)

    def _read(self, file: bytes | Path, sidecars: Sequence[Sidecar] | None) -> PhotoFile:
        if isinstance(file, bytes) and len(file) > self.allowance.most_bytes:
            raise too_many_bytes(len(file), self.allowance.most_bytes)
        with stage("decode"):
            return self._ask(file, sidecars)

    def _ask(self, file: bytes | Path, sidecars: Sequence[Sidecar] | None) -> PhotoFile:
        process = self._idle.get()
        try:
            if process is None or process.ended:
                process = self._start()
            return process.read(file, sidecars)
        finally:
            if process is not None and process.busy:
                self._end(process)
                process = None
            self._idle.put(process)

    def __enter__(self) -> Decoders:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes immediately."""
        _end_all(self._alive)

    def _start(self) -> _Process:
        process = _Process(self.allowance)
        self._alive.add(process)
        return process

    def _end(self, process: _Process) -> None:
        self._alive.discard(process)
        process.end()


def _choose_environment() -> dict[str, str]:
    """Choose the environment of a decoder, without secrets."""
    shown = {
        name: value
        for name, value in os.environ.items()
        if name in SHOWN or name.startswith(SHOWN_KINDS)
    }
    return shown | ENVIRONMENT


def _end_all(processes: set[_Process]) -> None:
    while processes:
        processes.pop().end()


class _Process:
    """A decoding process and the connection to it."""

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance
        self.busy = False
        self.connection, theirs = Pipe()
        handle, seconds = theirs.fileno(), max(1, allowance.seconds)
        command = [sys.executable, "-m", worker.__name__]
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                [*command, str(handle), str(seconds), str(allowance.all_memory)],
                stdin=subprocess.DEVNULL,
                pass_fds=[handle],
                env=_choose_environment(),
                start_new_session=True,  # an interrupt from the terminal is not for it
            )

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def read(self, file: bytes | Path, sidecars: Sequence[Sidecar] | None) -> PhotoFile:
        """Read a file, as Decoders does.

        The process stays busy if it did not answer.
        """
        self.busy = True
        try:
            self._send(file, sidecars)
            if not self.connection.poll(BUSY * self.allowance.seconds):
                raise ImageTooLarge(
                    f"the image takes more than {BUSY * self.allowance.seconds} seconds to "
                    "decode; scale it down, or save it again"
                )
            return self._receive(file, with_text=self._reads_text(sidecars))
        except (EOFError, OSError) as ended:
            raise ImageTooLarge(
                "the image ended the process that decoded it: it is broken, or it takes more than "
                f"{self.allowance.seconds} seconds or {self.allowance.memory:,} bytes of memory; "
                "scale it down, or save it again"
            ) from ended

    def _reads_text(self, sidecars: Sequence[Sidecar] | None) -> bool:
        """Whether text is read: of files with their metadata alone."""
        return sidecars is not None and self.allowance.text_seconds > 0

    def end(self) -> None:
        """End the process immediately."""
        self.process.kill()
        self.process.wait()

    def _send(self, file: bytes | Path, sidecars: Sequence[Sidecar] | None) -> None:
        request = {
            "limits": asdict(self.allowance.limits),
            "path": isinstance(file, Path),
            "text_seconds": self.allowance.text_seconds if self._reads_text(sidecars) else 0,
            "sidecars": None if sidecars is None else [sidecar.ending for sidecar in sidecars],
        }
        self.connection.send_bytes(json.dumps(request).encode())
        self.connection.send_bytes(os.fsencode(file) if isinstance(file, Path) else file)
        for sidecar in sidecars or ():
            self.connection.send_bytes(sidecar.data)

    def _receive(self, file: bytes | Path, *, with_text: bool) -> PhotoFile:
        header = json.loads(self.connection.recv_bytes())
        if "refusal" in header:
            self.busy = False
            raise worker.REFUSALS[header["refusal"]](header["reason"])
        copies = tuple(self._receive_copy(**photo) for photo in header["photos"])
        read = PhotoFile(copies, digest_of(file, copies), header["metadata"])
        if with_text:
            return self._add_words(read)
        self.busy = False
        return read

    def _add_words(self, read: PhotoFile) -> PhotoFile:
        """Receive the words in each photo, or a note on missing ones.

        The process stays busy if it did not answer.
        """
        words, fault = list[tuple[VisibleWord, ...]](), ""
        seconds = self.allowance.text_seconds
        try:
            while not fault and len(words) < len(read.copies):
                if not self.connection.poll(TEXT_WAIT * seconds):
                    raise EOFError
                answer = json.loads(self.connection.recv_bytes())
                fault = answer.get("fault", "")
                words.append(tuple(_read_word(*word) for word in answer.get("words", ())))
            self.busy = False
        except (EOFError, OSError):
            fault = f"it takes more than {seconds} seconds or {TEXT_MEMORY:,} bytes of memory"
        missing = [()] * (len(read.copies) - len(words))
        notes = (f"its text was not read: {fault}",) if fault else ()
        return replace(read, words=(*words, *missing), notes=notes)

    def _receive_copy(self, height: int, width: int, notes: list[str]) -> DisplayCopy:
        jpeg = self.connection.recv_bytes()
        pixels = np.frombuffer(bytearray(self.connection.recv_bytes()), np.uint8)
        shaped = images.as_tensor(pixels.reshape(height, width, 3))
        return DisplayCopy(pixels=shaped, notes=tuple(notes), jpeg=jpeg)


def _read_word(text: str, corners: Sequence[float], line: int) -> VisibleWord:
    return VisibleWord(text, Box(*corners), line)
