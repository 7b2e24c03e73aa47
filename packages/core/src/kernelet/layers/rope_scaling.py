"""Inverse frequencies of rotary embeddings, one function a scaling; float32.

float32, rounded where `transformers` rounds: checkpoints were trained with these numbers, and at position 1500 the last
bit of a frequency is 1e-4 of an angle.

Each takes the ``RopeParameters`` of a model and returns inverse frequencies [size / 2] and the factor of cos and sin.
None depends on a batch, a prompt or how it was cut: what other implementations choose by the length of the sequence
(``dynamic``, ``longrope``) is chosen here by the largest length that the engine serves, so that a cached key never
has to be rotated again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from kernelet.errors import UnsupportedModelError


@dataclass(frozen=True, kw_only=True)
class RopeParameters:
    """A rotary embedding.

    Attributes:
        scaling: One of ``SCALINGS``.
        size: Elements of a head that are rotated.
        theta: Base of the wavelengths.
        max_model_len: Largest length that the engine serves.
        trained_len: Length that the checkpoint's configuration states (``max_position_embeddings``).
        options: The scaling's own parameters, named as in Hugging Face's ``rope_parameters``.
    """

    scaling: str
    size: int
    theta: float
    max_model_len: int
    trained_len: int
    options: Mapping[str, Any] = field(default_factory=dict)

    def option(self, key: str) -> float:
        """A number that must be there.

        Raises:
            UnsupportedModelError: if it is not.
        """
        value = self.options.get(key)
        if value is None:
            raise UnsupportedModelError(f"rope scaling {self.scaling!r} needs {key!r} in the model's configuration")
        return float(value)


Scaled = tuple[Tensor, float]


def default(rope: RopeParameters, theta: float | None = None) -> Scaled:
    """No scaling (Su et al. 2021)."""
    return 1.0 / _wavelengths(rope, rope.theta if theta is None else theta), 1.0


def _wavelengths(rope: RopeParameters, theta: float) -> Tensor:
    """Wavelengths [size / 2], over 2 pi."""
    powers: Tensor = theta ** (torch.arange(0, rope.size, 2, dtype=torch.float32) / rope.size)
    return powers


def linear(rope: RopeParameters) -> Scaled:
    """Positions divided by ``factor`` (Chen et al. 2023)."""
    return default(rope)[0] / rope.option("factor"), 1.0


def dynamic(rope: RopeParameters) -> Scaled:
    """NTK-aware base, for ``max_model_len`` whatever the length of a sequence."""
    factor, size = rope.option("factor"), rope.size
    length = max(rope.max_model_len, rope.trained_len)
    stretch = factor * length / rope.trained_len - (factor - 1)
    return default(rope, rope.theta * stretch ** (size / (size - 2)))


def yarn(rope: RopeParameters) -> Scaled:
    """YaRN (Peng et al. 2023): high frequencies kept, low ones interpolated, a ramp between, and a temperature."""
    original = float(rope.options.get("original_max_position_embeddings") or rope.trained_len)
    factor = float(rope.options.get("factor") or rope.trained_len / original)

    def dimension(rotations: float) -> float:
        return rope.size * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(rope.theta))

    low = dimension(rope.options.get("beta_fast") or 32)
    high = dimension(rope.options.get("beta_slow") or 1)
    if rope.options.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, rope.size - 1)
    ramp = (torch.arange(rope.size // 2, dtype=torch.float32) - low) / max(high - low, 0.001)
    kept = 1 - ramp.clamp(0, 1)
    waves = _wavelengths(rope, rope.theta)
    return 1.0 / (factor * waves) * (1 - kept) + 1.0 / waves * kept, _yarn_temperature(rope, factor)


def _yarn_temperature(rope: RopeParameters, factor: float) -> float:
    given = rope.options.get("attention_factor")
    if given is not None:
        return float(given)

    def temperature(mscale: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0

    mscale, mscale_all = rope.options.get("mscale"), rope.options.get("mscale_all_dim")
    return temperature(mscale) / temperature(mscale_all) if mscale and mscale_all else temperature(1.0)


def longrope(rope: RopeParameters) -> Scaled:
    """LongRoPE (Ding et al. 2024): a factor a frequency, the long ones iff ``max_model_len`` is beyond the original."""
    original = rope.option("original_max_position_embeddings")
    key = "long_factor" if rope.max_model_len > original else "short_factor"
    factors = torch.tensor(rope.options.get(key) or [], dtype=torch.float32)
    if len(factors) != rope.size // 2:
        raise UnsupportedModelError(
            f"rope scaling 'longrope' needs {rope.size // 2} numbers in {key!r}, got {len(factors)}"
        )
    given = rope.options.get("attention_factor")
    if given is not None:
        temperature = float(given)
    else:
        factor = float(rope.options.get("factor") or rope.trained_len / original)
        temperature = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))
    return 1.0 / (factors * _wavelengths(rope, rope.theta)), temperature


def banded(rope: RopeParameters) -> Scaled:
    """Long wavelengths divided by ``factor``, short ones kept, a smooth mix between."""
    frequencies, _ = default(rope)
    original = float(rope.options.get("original_max_position_embeddings") or rope.trained_len)
    low, high = rope.option("low_freq_factor"), rope.option("high_freq_factor")
    turns = original * frequencies / (2 * math.pi)
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return frequencies * (kept + (1 - kept) / rope.option("factor")), 1.0


SCALINGS: Mapping[str, Callable[[RopeParameters], Scaled]] = MappingProxyType(
    {
        "default": default,
        "linear": linear,
        "dynamic": dynamic,
        "yarn": yarn,
        "longrope": longrope,
        "banded": banded,
    }
)
"""Scalings by name."""


def inverse_frequencies(rope: RopeParameters) -> Scaled:
    """Inverse frequencies [size / 2] in float32, and the factor of cos and sin.

    Raises:
        UnsupportedModelError: for an unknown scaling, or one with a parameter missing.
    """
    if rope.scaling not in SCALINGS:
        known = ", ".join(SCALINGS)
        raise UnsupportedModelError(f"rope scaling {rope.scaling!r} is not supported; supported are {known}")
    return SCALINGS[rope.scaling](rope)
