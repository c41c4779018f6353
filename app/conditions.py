"""Conditions of changes (RFC 9110): If-Match and If-None-Match, and the ETags they name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header
from werkzeug.http import parse_etags

from index.items import ANY, Collection, Expected


def etag(home: Collection, revision: int) -> str:
    """The tag of an item at a revision, which no other collection's item has."""
    return f'"{home.token}-{revision}"'


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a request says of the item that it changes; ValueError for both headers together."""

    match: str | None
    none_match: str | None

    def __post_init__(self) -> None:
        if self.match is not None and self.none_match is not None:
            raise ValueError("send If-Match or If-None-Match, not both")

    def expected(self, home: Collection) -> Expected:
        """The revisions at which the item may be changed."""
        header = self.match if self.match is not None else self.none_match
        if header is None:
            return ANY
        tags = parse_etags(header)
        revisions = {_revision(home, tag) for tag in tags.as_set()} - {0}
        if tags.star_tag:  # any item that is there
            revisions = {0}
        return Expected(frozenset(revisions), but=tags.star_tag == (self.match is not None))


async def conditions(
    if_match: Annotated[
        str | None, Header(description="Change the item only if this is its ETag; *: if any.")
    ] = None,
    if_none_match: Annotated[
        str | None, Header(description="*: store the item only if there is none.")
    ] = None,
) -> Conditions:
    """The conditions that a request's headers name."""
    return Conditions(if_match, if_none_match)


ConditionsDep = Annotated[Conditions, Depends(conditions)]


def _revision(home: Collection, tag: str) -> int:
    """The revision that a tag names, 0 for a tag that is not this collection's."""
    token, _, revision = tag.rpartition("-")
    known = token == home.token and revision.isascii() and revision.isdigit()
    return int(revision[:20]) if known else 0
