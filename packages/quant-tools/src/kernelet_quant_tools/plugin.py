"""Options of ``kernelet quantize`` that rarely change; the command is an entry point of ``kernelet.commands``."""

from __future__ import annotations

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "shard_mb": Option(type=int, default=4000, help="size at which a next file of weights is begun, in MB"),
            "sample_rows": Option(type=int, default=512, help="tokens whose inputs of a module a writer may see"),
        }
    )
