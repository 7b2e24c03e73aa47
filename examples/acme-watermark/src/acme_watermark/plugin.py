"""What the package offers."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.sampling import LogitsProcessorOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "key": Option(type=int, default=15485863, help="Whoever knows it can detect the watermark, and forge it"),
            "delta": Option(type=float, default=0.0, help="Strength for requests that state none; 0: no watermark"),
        }
    )


@hookimpl
def kernelet_logits_processors() -> Sequence[LogitsProcessorOffer]:
    return (
        LogitsProcessorOffer(
            name="acme-watermark",
            target="acme_watermark.processor:Watermark",
            supports_speculation=True,
            batch_independent=True,
            summary="Prefers a green list of tokens, which a test finds again",
        ),
    )
