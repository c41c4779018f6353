import pytest

from models import packaged


def test_a_package_that_is_not_installed_is_named():
    with pytest.raises(LookupError, match="install no-such-package"):
        packaged.folder("no_such_package")


def test_weights_with_other_bytes_are_refused(tmp_path):
    file = tmp_path / "weights"
    file.write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert packaged.check(file, known) == file
    file.write_bytes(b"abd")
    with pytest.raises(ValueError, match="reinstall its package"):
        packaged.check(file, known)
