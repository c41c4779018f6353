"""The library of pretrained encoders, imported late: it takes seconds."""

from __future__ import annotations

from typing import Any

from models import extras


def transformers() -> Any:
    """The module transformers, kept quiet; LookupError if it is missing."""
    try:
        import transformers
        from transformers.utils import logging
    except ImportError as missing:
        raise LookupError(
            f"a pretrained encoder needs the package transformers: {extras.install('pretrained')}"
        ) from missing
    logging.set_verbosity_error()  # it lists the weights of the half that is not loaded
    logging.disable_progress_bar()
    return transformers
