"""A small shop: six products of one colour, a calibrated matcher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.engine.inference import Models
from models.scores.calibration import Calibration
from tests.stored_items import put

SHOP: dict[str, tuple[str, dict[str, Any]]] = {
    "AB-1": ("red", {"title": "Summer dress", "brand": "Nike", "price": 10, "group": "g"}),
    "AB-2": ("blue", {"title": "Summer dress", "brand": "Nike", "price": 20, "group": "g"}),
    "AB-3": ("lime", {"title": "Chair of oak", "brand": "Ikea", "price": 30.5}),
    "AB-4": ("red", {"title": "Oak bookcase", "brand": "Ikea", "price": 55}),
    "AB-5": ("white", {"title": "Sofa of leather", "brand": "Ikea", "tags": ["new", "big"]}),
    "AB-6": ("black", {"title": "Sofa", "brand": "Acme", "price": 99, "about": "x" * 300}),
}
CALIBRATION = Calibration(
    torch.zeros(1, 3),
    torch.zeros(1, 3),
    torch.tensor([[2.0, 0, 0, -4.0], [2.0, 0, 0, -4.0], [4.0, 0, 0, 2.0]]),
    0.5,
)
SYNONYMS = {"couch": ("sofa",)}
Post = Callable[..., dict[str, Any]]


def filled(engine: Engine, data: Path, png: Callable[..., bytes]) -> Engine:
    """An engine with a calibrated matcher and the shop's products."""
    checkpoints = {name: one for name, one in engine.models.checkpoints.items() if one}
    checkpoints["matcher"] = replace(checkpoints["matcher"], calibration=CALIBRATION)
    calibrated = Engine(Models(**checkpoints), engine.catalog, data, "cpu", SYNONYMS)
    drafts = [Draft(name, about).with_photo(png(colour)) for name, (colour, about) in SHOP.items()]
    put(calibrated, "default", drafts)
    return calibrated


def ids(found: dict[str, Any]) -> list[str]:
    """The ids of an answer's hits, best first."""
    return [hit["id"] for hit in found["hits"]]
