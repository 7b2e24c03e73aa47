"""Which reader opens a checkpoint folder."""

from __future__ import annotations

from pathlib import Path

from kernelet.contracts.model import WeightFormatOffer, WeightReader
from kernelet.contracts.plugins import PluginView
from kernelet.errors import PluginError, WeightsError

AUTO = "auto"


def open_checkpoint(plugins: PluginView, folder: Path, load_format: str = AUTO) -> WeightReader:
    """Opens a checkpoint with the format that was named, else the best one whose files the folder holds.

    Raises:
        SelectionError: if the named format is not offered.
        WeightsError: if no format's files are there; the message lists what was looked for.
    """
    if load_format == AUTO:
        offers = sorted(plugins.offers(WeightFormatOffer), key=lambda owned: (-owned.offer.priority, owned.offer.name))
        fitting = [owned for owned in offers if any(any(folder.glob(p)) for p in owned.offer.patterns)]
        if not fitting:
            looked = (
                ", ".join(f"{owned.offer.name} ({' '.join(owned.offer.patterns)})" for owned in offers) or "nothing"
            )
            raise WeightsError(f"{folder} holds no weights; looked for {looked}. Install a package for its format")
        owned = fitting[0]
    else:
        owned = plugins.select(WeightFormatOffer, load_format).chosen
    reader = plugins.load(owned)(folder)
    if not isinstance(reader, WeightReader):
        raise PluginError(f"{owned.plugin}: {owned.offer.target} of offer {owned.offer.name!r} is no WeightReader")
    return reader
