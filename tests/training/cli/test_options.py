import pytest
from rich.console import Console

from models.vision import backbones
from training.cli.options import plain_errors


@pytest.mark.parametrize(
    ("device", "named", "chosen"),
    [("cpu", None, ["auto"]), ("cpu", "torch", ["torch"]), ("cuda", None, []), (None, None, [])],
)
def test_frozen_networks_run_as_in_a_service(device, named, chosen, monkeypatch):
    calls = list[str]()
    monkeypatch.setattr(backbones, "choose_inference", calls.append)
    monkeypatch.delenv("TESSERA_INFERENCE")
    if named:
        monkeypatch.setenv("TESSERA_INFERENCE", named)
    with plain_errors(Console(), device=device):
        pass
    assert calls == chosen
