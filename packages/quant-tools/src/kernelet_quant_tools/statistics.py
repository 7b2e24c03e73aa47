"""What a module was given, summed up as it comes."""

from __future__ import annotations

import torch
from torch import Tensor

from kernelet.contracts.quantizing import ModuleInputs


class Statistics:
    """Of inputs that come in pieces.

    Args:
        size: Elements of an input.
        tokens: How many inputs will come.
        rows: How many of them are kept.
    """

    def __init__(self, size: int, tokens: int, rows: int) -> None:
        self._moment = torch.zeros(size, size)
        self._magnitude = torch.zeros(size, dtype=torch.float64)
        self._largest = torch.zeros(size)
        self._wanted = torch.linspace(0, tokens - 1, min(rows, tokens)).long()
        self._sample: list[Tensor] = []
        self._tokens = 0

    def add(self, inputs: Tensor) -> None:
        """Takes inputs [..., in]."""
        values = inputs.detach().reshape(-1, inputs.shape[-1]).float()
        self._moment.addmm_(values.T, values)
        self._magnitude += values.abs().sum(0, dtype=torch.float64)
        self._largest = torch.maximum(self._largest, values.abs().amax(0))
        here = self._wanted[(self._wanted >= self._tokens) & (self._wanted < self._tokens + len(values))]
        self._sample.append(values[here - self._tokens].clone())
        self._tokens += len(values)

    def result(self) -> ModuleInputs:
        """All of it. The sums are given away."""
        return ModuleInputs(
            tokens=self._tokens,
            second_moment=self._moment.div_(self._tokens),
            mean_magnitude=(self._magnitude / self._tokens).float(),
            largest=self._largest,
            sample=torch.cat(self._sample),
        )


def scaled(inputs: ModuleInputs, factors: Tensor) -> ModuleInputs:
    """The same, once each input channel is divided by its factor."""
    return ModuleInputs(
        tokens=inputs.tokens,
        second_moment=inputs.second_moment / factors / factors[:, None],
        mean_magnitude=inputs.mean_magnitude / factors,
        largest=inputs.largest / factors,
        sample=inputs.sample / factors,
    )
