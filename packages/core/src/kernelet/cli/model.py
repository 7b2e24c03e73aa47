"""``kernelet model``: what models and architectures there are, where a model lies, and what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.cli import inspection
from kernelet.cli.engine_options import MODEL_HELP
from kernelet.cli.output import print_json, print_table
from kernelet.cli.plugin_options import add_plugin_options, boot

if TYPE_CHECKING:
    import argparse

    from kernelet.kernel import Kernel


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommands."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = commands.add_parser("list", help="models that plugins resolve by name")
    architectures = commands.add_parser("architectures", help="architectures that plugins serve")
    path = commands.add_parser("path", help="print a model's folder, fetching the model if need be")
    path.add_argument("name", metavar="NAME", help=MODEL_HELP)
    needs = commands.add_parser("inspect", help="print how each weight is stored and computed, and the memory needed")
    needs.add_argument("name", metavar="NAME", help=MODEL_HELP)
    inspection.add_arguments(needs)
    for one in (listing, architectures):
        one.add_argument("--json", action="store_true", help="a JSON array")
    path.add_argument("--json", action="store_true", help="a JSON object")
    for one in (listing, architectures, path):
        add_plugin_options(one)


def run(options: argparse.Namespace) -> int:
    """Does what was asked."""
    if options.action == "inspect":
        return inspection.run(options)
    kernel = boot(options)
    if options.action == "path":
        from kernelet.engine.bootstrap import find_model

        folder = str(find_model(options.name, kernel))
        if options.json:
            print_json({"name": options.name, "path": folder})
        else:
            print(folder)
        return 0
    rows = list_models(kernel) if options.action == "list" else list_architectures(kernel)
    if options.json:
        print_json(rows)
    else:
        header = ("NAME", "SUMMARY", "PLUGIN")
        print_table(header, [(row["name"], row["summary"], row["plugin"]) for row in rows])
    return 0


def list_models(kernel: Kernel) -> list[dict[str, str]]:
    """Every name that a plugin turns into a folder."""
    from kernelet.contracts.model import ModelSourceOffer

    return [
        {"name": name, "summary": summary, "plugin": owned.plugin}
        for owned in kernel.offers(ModelSourceOffer)
        for name, summary in sorted(owned.offer.models.items())
    ]


def list_architectures(kernel: Kernel) -> list[dict[str, str]]:
    """Every entry of config.json's ``architectures`` that a plugin serves."""
    from kernelet.contracts.model import ModelArchitectureOffer

    return [
        {"name": owned.offer.name, "summary": owned.offer.summary, "plugin": owned.plugin}
        for owned in kernel.offers(ModelArchitectureOffer)
    ]
