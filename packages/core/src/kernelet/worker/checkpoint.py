"""Finds the reader of a model's weights."""

from __future__ import annotations

from pathlib import Path

from kernelet.config import ModelConfig
from kernelet.contracts.model import WeightFormatOffer, WeightReader
from kernelet.contracts.plugins import Owned, PluginView
from kernelet.errors import PluginError, WeightsError


def open_checkpoint(config: ModelConfig, plugins: PluginView) -> WeightReader:
    """The reader of the named format, or of the only one whose files lie in the folder.

    Raises:
        SelectionError: if the named format is not offered.
        WeightsError: if no format's files, or those of several, are there.
        PluginError: if the target is no reader.
    """
    folder = Path(config.path)
    owned = _find(folder, plugins) if config.load_format == "auto" else _named(config, plugins)
    target = plugins.load(owned)
    is_reader = isinstance(target, type) and issubclass(target, WeightReader)
    reader = target.open(folder, plugins.settings(owned.plugin)) if is_reader else None
    if not isinstance(reader, WeightReader):
        raise PluginError(f"{owned.plugin}: {owned.offer.target} of offer {owned.offer.name!r} is no WeightReader")
    return reader


def _named(config: ModelConfig, plugins: PluginView) -> Owned[WeightFormatOffer]:
    return plugins.select(WeightFormatOffer, config.load_format).chosen


def _find(folder: Path, plugins: PluginView) -> Owned[WeightFormatOffer]:
    offers = plugins.offers(WeightFormatOffer)
    found = [owned for owned in offers if any(any(folder.glob(pattern)) for pattern in owned.offer.patterns)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{owned.offer.name} ({' '.join(owned.offer.patterns)})" for owned in found or offers)
    if not found:
        raise WeightsError(f"{folder} holds no weights in a format that is installed: {names}")
    raise WeightsError(f"{folder} holds weights in several formats: {names}; choose one with --load-format")
