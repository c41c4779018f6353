"""Downloads: files, whole or in parts."""

from __future__ import annotations

from fastapi.responses import FileResponse
from starlette.responses import MalformedRangeHeader, RangeNotSatisfiable

from app.http.errors import NoSuchBytes


class Download(FileResponse):
    """A file or parts of it.

    It ignores a Range that is malformed or of another unit; NoSuchBytes for one that begins behind
    the end (RFC 9110, 14.2 and 15.5.17).
    """

    @classmethod
    def _parse_range_header(cls, http_range: str, file_size: int) -> list[tuple[int, int]]:
        try:
            return super()._parse_range_header(http_range, file_size)
        except MalformedRangeHeader:
            return []  # all of it
        except RangeNotSatisfiable as behind:
            raise NoSuchBytes(file_size) from behind
