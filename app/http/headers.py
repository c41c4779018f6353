"""Headers of requests (RFC 9110): If-Match, If-None-Match and Accept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Request
from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

from app.http.errors import NotAcceptable
from index.items import ANY, Collection, Expected

# An element of a list, which may be empty: a tag, or one of ours whose quotes a shell took away.
ELEMENT = re.compile(
    r'[ \t]*+(?:(?P<weak>W/)?"(?P<tag>[\x21\x23-\x7e\x80-\xff]*)"|(?P<bare>[0-9a-f]{32}-[0-9]+))?'
    r"[ \t]*+(?:,|$)"
)


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of a header without quotes; None for `*`, any tag."""

    strong: frozenset[str] | None
    weak: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions of a change to an item; ValueError for both headers together."""

    match: Tags | None = None
    none_match: Tags | None = None

    def __post_init__(self) -> None:
        if self.match is not None and self.none_match is not None:
            raise ValueError("send If-Match or If-None-Match, not both")

    def resolve(self, home: Collection) -> Expected:
        """Return the revisions that allow the change."""
        tags = self.match or self.none_match
        if tags is None:
            return ANY
        if tags.strong is None:  # any item that is there
            return Expected(frozenset({0}), but=tags is self.match)
        # A weak tag is of something much alike, which may prevent a change, never allow one.
        named = tags.strong if tags is self.match else tags.strong | tags.weak
        revisions = {_revision(home, tag) for tag in named} - {0}
        return Expected(frozenset(revisions), but=tags is self.none_match)


def etag(home: Collection, revision: int) -> str:
    """Return the tag of an item at a revision, unique across collections."""
    return f'"{home.token}-{revision}"'


def parse(name: str, header: str) -> Tags:
    """Parse the tags in a header; ValueError if it is malformed.

    >>> sorted(parse("If-Match", '"a", W/"b",').strong)
    ['a']
    """
    if header.strip() == "*":
        return Tags(None)
    strong, weak, at = set[str](), set[str](), 0
    while at < len(header):
        element = ELEMENT.match(header, at)
        if element is None:
            raise _mistake(name, header)
        tag = element["bare"] if element["tag"] is None else element["tag"]
        if tag is not None:
            (weak if element["weak"] else strong).add(tag)
        at = element.end()
    if not strong and not weak:
        raise _mistake(name, header)
    return Tags(frozenset(strong), frozenset(weak))


def is_listed(headers: Sequence[str], tag: str) -> bool:
    """Return whether If-None-Match, in one header or several, names a tag."""
    if not headers:
        return False
    tags = parse("If-None-Match", ", ".join(headers))
    return tags.strong is None or tag.strip('"') in tags.strong | tags.weak


async def conditions(
    request: Request,
    if_match: Annotated[  # noqa: ARG001 - for the documentation: a header may come twice
        str | None, Header(description="Change the item only if this is its ETag; *: if any.")
    ] = None,
    if_none_match: Annotated[  # noqa: ARG001
        str | None, Header(description="*: store the item only if there is none.")
    ] = None,
) -> Conditions:
    """Read the conditions in a request's headers."""

    def tags(name: str) -> Tags | None:
        headers = request.headers.getlist(name)
        return parse(name, ", ".join(headers)) if headers else None

    return Conditions(tags("If-Match"), tags("If-None-Match"))


ConditionsDep = Annotated[Conditions, Depends(conditions)]


def _mistake(name: str, header: str) -> ValueError:
    return ValueError(
        f'{name} is *, or ETags in double quotes with commas between them: "…", "…"; '
        f"got {header!r:.200}"
    )


def _revision(home: Collection, tag: str) -> int:
    """Return the revision in a tag, 0 for another collection's."""
    token, _, revision = tag.rpartition("-")
    known = token == home.token and revision.isascii() and revision.isdigit()
    return int(revision[:20]) if known else 0


def negotiate(accept: str, offered: Sequence[str]) -> str:
    """Choose the best media type for an Accept header, or raise NotAcceptable."""
    accept = " ".join(accept.split())  # the parser takes time by the square of a run of spaces
    if not accept:  # says nothing, as where there is no such header (RFC 9110, 12.5.1)
        return offered[0]
    best = parse_accept_header(accept, MIMEAccept).best_match(offered)
    if best is None:
        raise NotAcceptable(
            f"this can be had as {', '.join(offered)}, and Accept names none of these"
        )
    return best
