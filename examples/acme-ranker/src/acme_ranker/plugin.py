"""What the package offers."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.io import IOProcessorOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "instruction": Option(type=str, default="", help="What queries are for, where a request does not say it"),
            "truncate": Option(type=bool, default=False, help="Documents longer than the context lose their middle"),
        }
    )


@hookimpl
def kernelet_io_processors() -> Sequence[IOProcessorOffer]:
    return (
        IOProcessorOffer(
            name="ranker",
            target="acme_ranker.processor:Ranker",
            summary="Documents by their similarity to a query",
        ),
    )
