"""Kernels: values, and no need of a folder."""

import importlib.util
import shutil

import numpy as np

from models.scores import kernels


def test_kernels_are_made_where_no_folder_can_be_written(tmp_path, monkeypatch):
    shutil.copy(kernels.__file__, tmp_path / "copied.py")
    # A file where the cache folder would be is unwritable for every user, root included.
    (tmp_path / "__pycache__").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "copied.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "copied.py"))
    spec = importlib.util.spec_from_file_location("copied", tmp_path / "copied.py")
    copied = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copied)
    out = np.empty(1, np.float32)
    ones, none = np.ones(2, np.float32), np.float32(-np.inf)
    # The columns of dots behind the query's two fragments do not count.
    dots, shifts = np.array([[1, 5, 9], [3, 2, 9]], np.int32), np.zeros((1, 2), np.float32)
    offsets = np.array([0, 2])
    copied.sums_of_maxima(dots, offsets, ones[:1], ones, shifts, ones - 1, True, none, out)
    assert out.tolist() == [3 + 5]
    assert (tmp_path / "__pycache__").is_file()
