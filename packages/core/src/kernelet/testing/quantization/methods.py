"""A method of an offer, made for the kit's model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelet.contracts.quant import QuantizationMethod, QuantOffer
from kernelet.testing.offered import Offered
from kernelet.testing.quantization.layers import model_config
from kernelet.testing.verdict import check


def method_of(offered: Offered[QuantOffer], config: Mapping[str, Any] | None) -> QuantizationMethod:
    """Makes the method as the engine does.

    Args:
        offered: What the plugin offers.
        config: ``quantization_config`` of the checkpoint; None for an unquantized one.

    Raises:
        ConformanceError: the offer's target is no ``QuantizationMethod``.
        UnsupportedModelError: the method does not take the configuration.
    """
    target = offered.target
    is_method = isinstance(target, type) and issubclass(target, QuantizationMethod)
    check(is_method, f"{offered.offer.target} is no QuantizationMethod")
    made: QuantizationMethod = target(offered.settings, config, model_config(offered.offer.name, config))
    return made
