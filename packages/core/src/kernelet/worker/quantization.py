"""Makes the quantization method that the configuration names."""

from __future__ import annotations

from kernelet.config import ModelConfig
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.quant import QuantizationMethod, QuantOffer
from kernelet.worker.offered import make_offered


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
    said = config.quantization_config
    method: QuantizationMethod = make_offered(plugins, owned, QuantizationMethod, "quantization method", said, config)
    return method
