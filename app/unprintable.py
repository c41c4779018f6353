"""Text with its unprintable characters escaped, for terminals and messages."""

from __future__ import annotations


def escape_unprintable(text: str) -> str:
    r"""Write invisible characters as escapes; names of files have them.

    >>> escape_unprintable("a\nb ü\u202e")
    'a\\nb ü\\u202e'
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
