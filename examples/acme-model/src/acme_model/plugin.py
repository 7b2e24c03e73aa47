"""What the package offers."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.model import ModelArchitectureOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_model_architectures() -> Sequence[ModelArchitectureOffer]:
    return (
        ModelArchitectureOffer(
            name="GPT2LMHeadModel",
            target="acme_model.model:GPT2",
            describe="acme_model.description:describe",
            summary="GPT-2, with its learned positions",
        ),
    )
