"""The tiny model's offer."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.model import ModelArchitectureOffer
from kernelet.hookspecs import hookimpl

ARCHITECTURE = "TinyForCausalLM"
"""What the config.json of a tiny model says in ``architectures``."""


class TinyPlugin:
    """Offers the architecture."""

    name = "model-tiny"

    @hookimpl
    def kernelet_model_architectures(self) -> Sequence[ModelArchitectureOffer]:
        return (
            ModelArchitectureOffer(
                name=ARCHITECTURE,
                target="kernelet.testing.tiny.model:TinyModel",
                describe="kernelet.testing.tiny.description:describe",
                summary="A tiny decoder for tests",
            ),
        )


plugin = TinyPlugin()
"""For ``plugins=["kernelet.testing.tiny:plugin"]``."""
