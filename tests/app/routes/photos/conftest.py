from collections.abc import Iterator
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.engine.inference import Models
from app.main import create_app
from app.settings import Settings
from models.scores.calibration import Calibration


@pytest.fixture
def calibrated(
    engine: Engine, settings: Settings, calibration: Calibration
) -> Iterator[TestClient]:
    """A service with a calibrated matcher."""
    checkpoints = engine.models.checkpoints
    matcher = replace(checkpoints["matcher"], calibration=calibration)
    answering = Engine(Models(**checkpoints | {"matcher": matcher}), engine.catalog, settings.data)
    with TestClient(create_app(settings, answering), raise_server_exceptions=False) as client:
        yield client
