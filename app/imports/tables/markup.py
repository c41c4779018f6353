"""Text of cells with HTML, as people see it."""

from __future__ import annotations

import html
import re

import nh3

BLOCKS = {
    *("p", "br", "div", "li", "ul", "ol", "dl", "dt", "dd", "table", "tr", "td", "th", "caption"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "hr", "blockquote", "pre"),
}
INLINE = {
    *("a", "b", "strong", "i", "em", "u", "s", "span", "font", "small", "sup", "sub", "img"),
    *("tbody", "thead", "center", "style", "script", "iframe", "video", "code", "section"),
}
UNSEEN = {"script", "style", "title"}
MOST_TAGS = 5_000  # in a cell: what is nested deeper takes the square of it
TAG = re.compile(rf"</?(?:{'|'.join(sorted(BLOCKS | INLINE))})(?:\s[^<>]*)?/?>", re.IGNORECASE)
ENTITY = re.compile(r"&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,31}\d{0,2});", re.IGNORECASE)
BLOCK = re.compile(r"</?\w+>")


def has_markup(text: str) -> bool:
    """Return whether a text has tags or characters of HTML.

    >>> has_markup("<p class='x'>Oak"), has_markup("a < b > c"), has_markup("<Tom@x.test>")
    (True, False, False)
    >>> has_markup("H&amp;M"), has_markup("L&#39;Or&eacute;al"), has_markup("H&M; A&B;")
    (True, True, False)
    """
    if TAG.search(text):
        return True
    return any(html.unescape(name) != name for name in ENTITY.findall(text))


def plain_text(text: str) -> str:
    r"""Return the visible text of HTML, a line for each block.

    ValueError for more tags than are read.

    >>> plain_text("<p>Solid <b>o</b>ak &amp; iron<ul><li>red</li></ul><style>td{}</style>")
    'Solid oak & iron\nred'
    >>> plain_text("for kids <three years &amp; up"), plain_text("A&B; R&reg")
    ('for kids <three years & up', 'A&B; R&reg')
    """
    if not TAG.search(text):
        return ENTITY.sub(lambda character: html.unescape(character[0]), text)
    if text.count("<") > MOST_TAGS:
        raise ValueError(f"a cell of HTML has more than the {MOST_TAGS:,} tags that are read")
    clean = nh3.clean(text, tags=BLOCKS, attributes={}, clean_content_tags=UNSEEN, link_rel=None)
    lines = (" ".join(html.unescape(part).split()) for part in BLOCK.split(clean))
    return "\n".join(line for line in lines if line)
