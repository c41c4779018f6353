import sys

import pytest

from models.encoders import library


def test_without_the_library_what_to_install_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(LookupError, match="make install EXTRAS=pretrained"):
        library.transformers()
