import errno
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from models import checkpoint, whole_files

FULL = Path("/dev/full")  # every write fails as on a full disk


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("number", [1, 100_000])
def test_a_full_disk_is_named_and_leaves_the_former_file(tmp_path, monkeypatch, number):
    path = tmp_path / "last.pt"
    whole_files.write_tensors(path, {"weights": torch.zeros(2)})
    opens = Path.open

    def open_full(path, *args, **kwargs):
        opens(path, *args, **kwargs).close()
        return opens(FULL, *args, **kwargs)

    monkeypatch.setattr(Path, "open", open_full)
    with pytest.raises(OSError, match="No space left on device") as raised:
        whole_files.write_tensors(path, {"weights": torch.ones(number)})
    monkeypatch.undo()
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["last.pt"]
    assert torch.load(path)["weights"].tolist() == [0, 0]


def test_a_file_where_a_folder_should_be_is_named(tmp_path):
    (tmp_path / "runs").touch()
    path = tmp_path / "runs" / "dvsa-0" / "run.json"
    with pytest.raises(OSError, match=r"Not a directory|File exists") as raised:
        whole_files.write_text(path, "{}")
    assert raised.value.filename.startswith(str(tmp_path / "runs"))


def test_a_failed_checkpoint_names_its_file_and_the_cause(tmp_path):
    path = tmp_path / "none" / "matcher.safetensors"
    with pytest.raises(FileNotFoundError) as raised, whole_files.name_in_errors(path):
        save_file({"weight": torch.ones(1)}, path)
    assert raised.value.filename == str(path)
    assert raised.value.strerror == os.strerror(errno.ENOENT)


def test_faults_of_the_program_are_raised_as_they_are(tmp_path):
    path = tmp_path / "run.json"

    def write():
        with whole_files.write_whole(path) as partial:
            partial.touch()
            raise RuntimeError("shapes do not fit")

    with pytest.raises(RuntimeError, match="shapes do not fit"):
        write()
    assert not list(tmp_path.iterdir())


def test_a_link_stays_one_and_its_target_is_replaced(tmp_path):
    target, link = tmp_path / "disk" / "run.json", tmp_path / "run.json"
    link.symlink_to(target)
    whole_files.write_text(link, "{}")
    assert (link.is_symlink(), target.read_text()) == (True, "{}")
    assert [file.name for file in target.parent.iterdir()] == ["run.json"]


def test_a_pipe_and_a_device_are_written_into(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "null.safetensors"
    os.mkfifo(pipe)
    link.symlink_to(os.devnull)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    whole_files.write_text(pipe, "{}")
    assert os.read(reader, 9) == b"{}"
    os.close(reader)
    checkpoint.write(link, {"weight": torch.ones(1)}, {})
    assert (pipe.is_fifo(), Path(os.devnull).is_char_device()) == (True, True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["null.safetensors", "pipe"]


def test_files_with_one_stem_are_written_apart(tmp_path):
    with (
        whole_files.write_whole(tmp_path / "run.json") as numbers,
        whole_files.write_whole(tmp_path / "run.png") as picture,
    ):
        numbers.write_text("{}")
        picture.write_text("png")
    assert (tmp_path / "run.json").read_text() == "{}"


def test_an_error_that_was_handled_before_is_no_cause(tmp_path):
    def write_after_a_failure():
        try:
            (tmp_path / "none").read_text()
        except OSError:
            with whole_files.write_whole(tmp_path / "run.json"):
                raise RuntimeError("shapes do not fit")  # noqa: B904

    with pytest.raises(RuntimeError, match="shapes do not fit"):
        write_after_a_failure()
