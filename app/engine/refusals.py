"""Refusals: why one item of many is not stored, while the others are."""

from __future__ import annotations

import logging

MISTAKES = (ValueError, LookupError, OSError)
BUGS = (KeyError, IndexError)  # LookupErrors, but never the caller's mistake

log = logging.getLogger(__name__)


def reason_of(failed: Exception) -> str:
    """The reason to give for an item, after logging what is no mistake of its sender."""
    if isinstance(failed, MISTAKES) and not isinstance(failed, BUGS):
        return str(failed) or type(failed).__name__
    log.error("an item failed, and the others go on", exc_info=failed)
    return f"the service failed on it ({type(failed).__name__}); its log says why"
