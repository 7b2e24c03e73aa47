"""What the package offers."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.stats import StatLoggerOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(schema={"file": Option(type=str, help="SQLite database; default: none, nothing is recorded")})


@hookimpl
def kernelet_stat_loggers() -> Sequence[StatLoggerOffer]:
    return (
        StatLoggerOffer(
            name="acme-recorder",
            target="acme_recorder.recorder:Recorder",
            api="2.0",
            summary="A row of a database for each finished request",
        ),
    )
