"""What the package offers."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.model import WeightFormatOffer
from kernelet.contracts.offer import Option
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={"key_file": Option(type=str, help="File with the key, 64 hexadecimal digits; no default")}
    )


@hookimpl
def kernelet_weight_formats() -> Sequence[WeightFormatOffer]:
    return (
        WeightFormatOffer(
            name="acme-encrypted",
            target="acme_weights_encrypted.reader:EncryptedReader",
            api="1.1",  # WeightReader.open, which is given the options
            patterns=("*.encrypted",),
            summary="AES-256-GCM in chunks, so that rows are read lazily",
        ),
    )
