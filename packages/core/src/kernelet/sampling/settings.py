"""The parameters of a step's rows as tensors, kept as long as the same requests are sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from kernelet.sampling.ops import Draws
from kernelet.sampling.state import SamplingState


class DrawSettings:
    """Makes the ``Draws`` of steps."""

    def __init__(self) -> None:
        self._states: list[SamplingState] = []
        self._kept: Draws | None = None

    def draws(self, states: Sequence[SamplingState], numbers: Sequence[float]) -> Draws | None:
        """What a step's rows are drawn with; None where every row takes its best token.

        Args:
            states: The request of each row.
            numbers: One a row, in [0, 1).
        """
        if self._states != states:
            self._states, self._kept = list(states), _columns(states)
        return None if self._kept is None else replace(self._kept, number=_floats(numbers))


def _columns(states: Sequence[SamplingState]) -> Draws | None:
    params = [state.params for state in states]
    if all(one.temperature == 0.0 for one in params):
        return None
    return Draws(
        temperature=_floats([one.temperature for one in params]),
        top_k=torch.tensor([one.top_k for one in params], dtype=torch.int64),
        top_p=_floats([one.top_p for one in params]),
        min_p=_floats([one.min_p for one in params]),
        number=torch.empty(0, dtype=torch.float64),
    )


def _floats(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)
