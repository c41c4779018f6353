import pytest
import torch

from models.vision.images import decode
from training.report import contact_sheet
from training.report.contact_sheet import SIDE


def test_a_tile_shows_the_whole_crop_in_the_middle_of_white():
    tile = contact_sheet.tile(torch.zeros(3, 10, 20, dtype=torch.uint8))
    assert tile.shape == (3, SIDE, SIDE)
    assert (tile[:, : SIDE // 4] == 255).all()
    assert (tile[:, SIDE // 4 : 3 * SIDE // 4] == 0).all()
    assert (tile[:, 3 * SIDE // 4 :] == 255).all()


def test_a_sheet_is_written_row_by_row(tmp_path):
    crops = [torch.full((3, 5, 5), 30 * place, dtype=torch.uint8) for place in range(8)]
    contact_sheet.write(tmp_path / "new" / "sheet.png", crops)
    sheet = decode((tmp_path / "new" / "sheet.png").read_bytes()).pixels
    assert sheet.shape == (3, 2 * (SIDE + 4) + 4, 6 * (SIDE + 4) + 4)
    assert sheet[0, SIDE // 2, SIDE + SIDE // 2] == 30
    assert sheet[0, SIDE + SIDE // 2, SIDE // 2] == 180


def test_a_sheet_of_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one region"):
        contact_sheet.write(tmp_path / "sheet.png", [])
