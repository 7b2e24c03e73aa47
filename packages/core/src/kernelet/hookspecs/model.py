"""Hooks that offer architectures, sources of models and weight formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.model import ModelArchitectureOffer, ModelSourceOffer, WeightFormatOffer


@hookspec
def kernelet_model_architectures() -> Sequence[ModelArchitectureOffer]:
    """Offers architectures by the name that config.json has.

    When: process start, while registries are filled.
    Process: all.
    Returns: offers; duplicates of a name are an error.
    Order: the architecture's name selects; a name has one owner.
    Since: model 1.0.
    """
    raise NotImplementedError


@hookspec
def kernelet_model_sources() -> Sequence[ModelSourceOffer]:
    """Offers model names and turns them into a folder.

    When: process start, while registries are filled.
    Process: frontend.
    Returns: offers; duplicates of a name are an error.
    Order: the model's name selects; a name has one owner.
    Since: model 1.0.
    """
    raise NotImplementedError


@hookspec
def kernelet_weight_formats() -> Sequence[WeightFormatOffer]:
    """Offers readers of checkpoint files.

    When: process start, while registries are filled.
    Process: worker.
    Returns: offers; duplicates of a name are an error.
    Order: named, else the first whose files the folder holds, by priority.
    Since: model 1.0.
    """
    raise NotImplementedError
