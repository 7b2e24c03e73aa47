from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.cache import CachePolicyOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.stats import StatLoggerOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(schema={"file": Option(type=str, default="", help="Where records go; empty: nowhere")})


@hookimpl
def kernelet_cache_policies() -> Sequence[CachePolicyOffer]:
    return (CachePolicyOffer(name="acme-newest", target="acme_older.policy:NewestFirst", priority=-10),)


@hookimpl
def kernelet_stat_loggers() -> Sequence[StatLoggerOffer]:
    return (StatLoggerOffer(name="acme-lines", target="acme_older.logger:Lines"),)
