"""What the package offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
            "vector": Option(type=str, help="A safetensors file with one tensor [hidden], or [1, hidden]"),
            "layers": Option(type=str, help="Layers after which it is added, from 0: 12, or 8-12,20"),
            "strength": Option(type=float, default=1.0, help="Factor of the vector; negative: away from it"),
        }
    )


@hookimpl
def kernelet_configure(config: EngineConfig) -> Sequence[ConfigChange]:
    """Changes nothing: what is wrong with the options is said before the model is loaded."""
    from acme_steering.options import check_layers

    check_layers(config.plugins.settings.get("acme-steering", {}), config.model.num_layers)
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
