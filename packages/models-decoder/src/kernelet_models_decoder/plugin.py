"""Registers the decoder architectures. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.model import ModelArchitectureOffer
from kernelet.hookspecs import hookimpl
from kernelet_models_decoder.rows import ROWS


@hookimpl
def kernelet_model_architectures() -> Sequence[ModelArchitectureOffer]:
    """One offer a row."""
    return [
        ModelArchitectureOffer(
            name=row.architecture,
            target="kernelet_models_decoder.decoder:DecoderModel",
            describe="kernelet_models_decoder.description:describe",
            summary="decoder-only transformer, described as data",
        )
        for row in ROWS
    ]
