"""``kernelet plugins``: what is installed, and why it runs or does not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from kernelet.cli import doctor, lock_plugins, new_plugin
from kernelet.cli.commands import CommandModule
from kernelet.cli.output import print_json, print_table
from kernelet.cli.plugin_options import add_plugin_options, boot
from kernelet.errors import UnknownPluginError

if TYPE_CHECKING:
    import argparse

    from kernelet.kernel import PluginReport

SUBCOMMANDS: Mapping[str, CommandModule] = MappingProxyType({"doctor": doctor, "lock": lock_plugins, "new": new_plugin})


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommands."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = commands.add_parser("list", help="all plugins with their state")
    show = commands.add_parser("show", help="everything about one plugin")
    show.add_argument("name", metavar="NAME", help="the plugin's name, as in the list")
    doctor.configure(
        commands.add_parser("doctor", help="examine plugins: contracts, costs, conflicts, what is missing")
    )
    lock_plugins.configure(commands.add_parser("lock", help="write down what runs here, for --locked"))
    new_plugin.configure(commands.add_parser("new", help="write a package to start a plugin from"))
    for one in (listing, show):
        one.add_argument("--json", action="store_true", help="JSON")
        add_plugin_options(one, locked=False)


def run(options: argparse.Namespace) -> int:
    """Boots the plugins without an engine, probes platforms, and reports."""
    if options.action in SUBCOMMANDS:
        return SUBCOMMANDS[options.action].run(options)
    kernel = boot(options, locked=False)
    kernel.probe_platforms()
    if options.action == "list":
        print_list(kernel.reports, as_json=options.json)
    else:
        print_one(find(kernel.reports, options.name, kernel.notices), as_json=options.json)
    return 0


def find(reports: tuple[PluginReport, ...], name: str, notices: tuple[str, ...] = ()) -> PluginReport:
    """The report of that name; ``notices`` are remarks about installed metadata.

    Raises:
        UnknownPluginError: there is none; the message lists what there is.
    """
    for report in reports:
        if report.name == name:
            return report
    from kernelet.kernel.discovery import unreadable

    known = ", ".join(report.name for report in reports)
    raise UnknownPluginError(f"no plugin is called {name!r}; installed are {known}{unreadable(notices)}")


def print_list(reports: tuple[PluginReport, ...], *, as_json: bool) -> None:
    """One row a plugin."""
    rows = [report.row() for report in reports]
    if as_json:
        print_json(rows)
        return
    cells = [
        (row["name"], f"{row['distribution']} {row['version']}", row["state"], shorten(row["offers"]), row["reason"])
        for row in rows
    ]
    print_table(("NAME", "DISTRIBUTION", "STATE", "OFFERS", "REASON"), cells)


def shorten(offers: list[str], most: int = 4) -> str:
    """The first few offers, and how many more."""
    more = f", ... ({len(offers)})" if len(offers) > most else ""
    return ", ".join(offers[:most]) + more


def print_one(report: PluginReport, *, as_json: bool) -> None:
    """Where it is, each offer's state, and the traceback of a failure."""
    if as_json:
        print_json(report.details())
        return
    facts = {
        "name": report.name,
        "distribution": f"{report.distribution} {report.version}".strip(),
        "entry point": report.entry_point,
        "path": report.path,
        "state": str(report.state),
        "reason": report.reason,
        "to do": report.fix,
    }
    for label, value in facts.items():
        if value:
            print(f"{label + ':':<14}{value}")
    if report.offers:
        print()
        rows = [(offer.kind, offer.name, str(offer.state), offer.reason or offer.summary) for offer in report.offers]
        print_table(("KIND", "OFFER", "STATE", "ABOUT"), rows)
    for line in report.deprecated:
        print(f"\ndeprecated: it uses {line}")
    if report.trace:
        print(f"\n{report.trace.rstrip()}")
