"""The least speed of a body from a client."""

from __future__ import annotations

from dataclasses import dataclass

from app.http.errors import TooSlow
from app.settings import Settings


@dataclass(slots=True)
class BodyPace:
    """The time for a body: `grace` seconds, plus one for each `rate` bytes.

    It is at most `most` seconds. Only the time in which the service waits for the client counts. A
    rate of 0 asks for none.
    """

    grace: float
    rate: int
    most: float
    size: int = 0  # bytes so far
    waited: float = 0.0  # seconds so far

    @classmethod
    def of(cls, settings: Settings) -> BodyPace:
        """The pace of a new body, or of a new line."""
        return cls(settings.idle_seconds, settings.body_rate, settings.body_seconds)

    @property
    def left(self) -> float:
        """Seconds until the next byte must come."""
        allowed = self.grace + self.size / self.rate if self.rate else self.most
        return min(self.most, allowed) - self.waited

    def add(self, size: int, waited: float) -> None:
        """Count received bytes and waiting time."""
        self.size, self.waited = self.size + size, self.waited + waited

    def check(self, thing: str) -> None:
        """Raise TooSlow where no time is left."""
        if self.left > 0:
            return
        if self.waited >= self.most:
            raise TooSlow(f"{thing} took longer than {self.most:g} seconds; send it in less")
        raise TooSlow(
            f"{thing} came too slowly, {self.size:,} bytes in {self.waited:.0f} seconds: after "
            f"{self.grace:g} seconds {self.rate:,} bytes must come a second"
        )
