"""Rectangles and lines of text that pictures are drawn with. All lengths are in pixels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle; its stroke grows inward."""

    left: float
    top: float
    width: float
    height: float
    fill: str | None = None
    stroke: str | None = None
    thickness: int = 0

    @property
    def right(self) -> float:
        """The edge past the last pixel."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The edge past the last pixel."""
        return self.top + self.height

    def overlap(self, other: Rect) -> float:
        """The area that both cover."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(wide, 0.0) * max(high, 0.0)

    def outlined(self, grown: float, stroke: str, thickness: int) -> Rect:
        """An outline that much outside."""
        width, height = self.width + 2 * grown, self.height + 2 * grown
        return Rect(self.left - grown, self.top - grown, width, height, None, stroke, thickness)


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text."""

    left: float
    baseline: float
    text: str
    size: int
    colour: str


Shape = Rect | Text
