"""What the package offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acme_steering.options import PLUGIN, check_layers
from kernelet.contracts.lifecycle import ConfigChange, PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.op import OpOffer
from kernelet.hookspecs import hookimpl

if TYPE_CHECKING:
    from kernelet.config import EngineConfig


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "vector": Option(
                type=str, help="A safetensors file with one tensor [hidden], or [1, hidden]; default: none"
            ),
            "layers": Option(type=str, help="Layers after which it is added, from 0: 12, or 8-12,20; default: none"),
            "strength": Option(type=float, default=1.0, help="Factor of the vector; negative: away from it"),
        }
    )


@hookimpl
def kernelet_configure(config: EngineConfig) -> Sequence[ConfigChange]:
    """Changes nothing: what is wrong with the options is said before the model is loaded."""
    check_layers(config.plugins.settings.get(PLUGIN, {}), config.model.num_layers)
    return ()


@hookimpl
def kernelet_ops() -> Sequence[OpOffer]:
    return (
        OpOffer(
            name="acme-steering",
            target="acme_steering.op:SteeredLayer",
            api="1.1",
            op="decoder_layer",
            summary="Adds a vector to the residual stream after chosen layers",
        ),
    )
