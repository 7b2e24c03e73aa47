"""Makes the quantization method that the configuration names."""

from __future__ import annotations

from kernelet.config import ModelConfig
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.quant import QuantizationMethod, QuantOffer
from kernelet.errors import KerneletError, PluginError


def make_quantization(config: ModelConfig, plugins: PluginView) -> QuantizationMethod | None:
    """How the model's weights are stored; None: as they are computed with.

    Raises:
        SelectionError: no plugin offers the method.
        PluginError: its class is no method, or fails.
        KerneletError: the method refuses its options, or what the checkpoint says.
    """
    if config.quantization is None:
        return None
    owned = plugins.select(QuantOffer, config.quantization).chosen
    target = plugins.load(owned)
    if not (isinstance(target, type) and issubclass(target, QuantizationMethod)):
        raise PluginError(
            f"{owned.plugin}: {owned.offer.target} of offer {owned.offer.name!r} is no QuantizationMethod"
        )
    try:
        method = target(plugins.settings(owned.plugin), config.quantization_config, config)
    except KerneletError:
        raise
    except Exception as error:
        raise PluginError(
            f"quantization method {owned.offer.name!r} of plugin {owned.plugin!r} cannot be made: "
            f"{type(error).__name__}: {error}"
        ) from error
    return method
