"""Options of ``kernelet route`` that rarely change; the command is an entry point of ``kernelet.commands``."""

from __future__ import annotations

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "api_key": Option(type=str, default="", help="key of the engines, for what the router asks them itself"),
            "health_interval": Option(type=float, default=2.0, help="seconds between two looks at an engine"),
            "health_timeout": Option(type=float, default=5.0, help="seconds until an engine that is silent is down"),
            "connect_timeout": Option(type=float, default=5.0, help="seconds to connect to an engine"),
            "read_timeout": Option(type=float, default=600.0, help="seconds that an engine may say nothing"),
            "shutdown_timeout": Option(type=float, default=20.0, help="seconds that requests get to finish at the end"),
            "max_imbalance": Option(
                type=int,
                default=8,
                help="requests that the engine with the prefix may have more than the one that has least",
            ),
            "max_request_bytes": Option(type=int, default=16 * 1024 * 1024, help="bytes of a request's body at most"),
        }
    )
