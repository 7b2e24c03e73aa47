"""The null platform's offers."""

from __future__ import annotations

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.model import ModelArchitectureOffer
from kernelet.contracts.offer import Option
from kernelet.contracts.platform import PlatformOffer
from kernelet.hookspecs import hookimpl

NAME = "platform-null"
"""Name of the plugin."""

ARCHITECTURE = "NullForCausalLM"
"""What the config.json of a null model says in ``architectures``."""


class NullPlugin:
    """Offers the platform ``null`` and the architecture that runs on it."""

    name = NAME

    @hookimpl
    def kernelet_options(self) -> PluginOptions:
        return PluginOptions(
            schema={"memory_bytes": Option(type=int, default=1 << 26, help="Memory that the device pretends to have.")}
        )

    @hookimpl
    def kernelet_platforms(self) -> tuple[PlatformOffer, ...]:
        return (
            PlatformOffer(
                name="null",
                target="kernelet.testing.null.platform:NullDevice",
                probe="kernelet.testing.null.platform:probe",
                config="kernelet.testing.null.platform:NullConfig",
                worker="kernelet.testing.null.worker:NullWorker",
                summary="Tokens from a hash; checks every step.",
            ),
        )

    @hookimpl
    def kernelet_model_architectures(self) -> tuple[ModelArchitectureOffer, ...]:
        return (
            ModelArchitectureOffer(
                name=ARCHITECTURE,
                target="kernelet.testing.null.model:NullModel",
                describe="kernelet.testing.null.model:describe",
                summary="A model without weights, for the null platform.",
            ),
        )


plugin = NullPlugin()
"""For ``plugins=["kernelet.testing.null:plugin"]``."""
