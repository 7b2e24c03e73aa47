"""``kernelet route``: a proxy in front of engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.contracts.commands import Command, CommandContext
from kernelet.errors import ConfigError

if TYPE_CHECKING:
    import argparse

PLUGIN = "router-prefix"
MAX_PORT = 65535


class Route(Command):
    """The command."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.description = (
            "Sends each request to the engine whose cache holds most of its prompt, as engines tell by KV events "
            "(kernelet serve --kv-events-config), or through a pair of engines that hand over keys and values."
        )
        for flag, text in (
            ("--engine", "engines that compute prompts and texts"),
            ("--prefill", "engines that compute prompts"),
            ("--decode", "engines that take prompts over and make texts"),
        ):
            parser.add_argument(flag, metavar="URL", nargs="+", action="extend", default=[], help=text)
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument(
            "--port", metavar="N", type=int, default=8080, help="0 takes a free one (default: %(default)s)"
        )

    def run(self, options: argparse.Namespace, context: CommandContext) -> int:
        from kernelet_router_prefix.serve import run
        from kernelet_router_prefix.settings import read_settings

        if not 0 <= options.port <= MAX_PORT:
            raise ConfigError(f"--port {options.port}: expected 0 to {MAX_PORT}")
        settings = context.plugins().settings(PLUGIN)
        return run(read_settings(settings, options.engine, options.prefill, options.decode), options.host, options.port)
