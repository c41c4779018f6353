"""Content negotiation: which of the media types that a route offers a client accepts."""

from __future__ import annotations

from collections.abc import Sequence

from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

from app.http.errors import NotAcceptable


def acceptable(accept: str, offered: Sequence[str]) -> str:
    """The offered media type that an Accept header likes best; NotAcceptable if it likes none."""
    accept = " ".join(accept.split())  # the parser takes time by the square of a run of spaces
    if not accept:  # says nothing, as where there is no such header (RFC 9110, 12.5.1)
        return offered[0]
    best = parse_accept_header(accept, MIMEAccept).best_match(offered)
    if best is None:
        raise NotAcceptable(
            f"this can be had as {', '.join(offered)}, and Accept names none of these"
        )
    return best
