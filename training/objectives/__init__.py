"""What training makes small: functions from scores (K, K), true pairs on the diagonal."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from training.objectives.contrastive import contrastive
from training.objectives.ranking import ranking

OBJECTIVES: dict[str, Callable[..., Tensor]] = {"contrastive": contrastive, "ranking": ranking}
