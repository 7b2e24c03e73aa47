"""Offers the model name ``smollm2-135m``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.model import ModelSourceOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_model_sources() -> Sequence[ModelSourceOffer]:
    return (
        ModelSourceOffer(
            name="smollm2",
            target="kernelet_model_smollm2.source:SmolLM2Source",
            models={"smollm2-135m": "SmolLM2 135M Instruct, 8192 tokens of context, 270 MB"},
            summary="The demo model, taken from the package index",
        ),
    )
