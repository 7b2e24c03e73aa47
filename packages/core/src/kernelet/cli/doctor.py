"""``kernelet plugins doctor``: examines what is installed, each piece in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.cli.output import print_json, print_table
from kernelet.cli.plugin_options import add_plugin_options, given
from kernelet.cli.usage import UsageError

if TYPE_CHECKING:
    import argparse

    from kernelet.kernel.doctor.checkup import Checkup, PluginCheckup, TargetCheckup
    from kernelet.kernel.doctor.messages import Check, Cost, Finding

DESCRIPTION = """\
Imports each plugin and each implementation that it offers in a process of its own, measures time and memory, makes what
can be made without a model, and looks for conflicts, for what is missing and for what goes away. Exit code 1: something
failed.
"""
NOTHING = "-"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    parser.description = DESCRIPTION
    parser.add_argument("names", metavar="NAME", nargs="*", help="plugins to examine; all without one")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument(
        "--conformance", action="store_true", help="run the suites that the packages bring as well; takes minutes"
    )
    parser.add_argument(
        "--timeout", type=float, default=120.0, metavar="SECONDS", help="for each process (default: 120)"
    )
    add_plugin_options(parser)


def run(options: argparse.Namespace) -> int:
    """Examines and reports.

    Raises:
        UnknownPluginError: a name is not installed.
        PluginError: a configuration that fits no plugin, or suites that cannot be run.
    """
    from kernelet.engine.bootstrap import plugins_config
    from kernelet.engine.progress import progress_bar
    from kernelet.kernel.doctor.checkup import Doctor

    if not options.timeout > 0:
        raise UsageError(f"--timeout {options.timeout}: expected more than 0 seconds")
    engine = given(options)
    imports = [one for one in engine.plugins or () if ":" in one]
    doctor = Doctor(
        plugins_config(engine),
        imports,
        lambda what, count: progress_bar(f"Examining {what}", count, what),
        deadline=options.timeout,
    )
    checkup = doctor.examine(options.names, suites=options.conformance)
    if options.json:
        import msgspec

        print_json(msgspec.to_builtins(checkup))
    else:
        print_checkup(checkup)
    return 0 if checkup.ok else 1


def print_checkup(checkup: Checkup) -> None:
    """Tables of plugins, implementations and suites; findings; facts."""
    print_table(
        ("PLUGIN", "DISTRIBUTION", "STATE", "IMPORT", "MEMORY", "CHECKS"), [plugin_row(one) for one in checkup.plugins]
    )
    rows = [target_row(plugin, target) for plugin in checkup.plugins for target in plugin.targets]
    if rows:
        print()
        print_table(("PLUGIN", "IMPLEMENTATION", "USED BY", "IMPORT", "MEMORY", "CHECKS"), rows)
    verdicts = [verdict for plugin in checkup.plugins for verdict in plugin.conformance]
    if verdicts:
        print()
        cells = [(v.plugin, v.module, str(v.passed), str(len(v.failed)), str(v.skipped)) for v in verdicts]
        print_table(("PLUGIN", "SUITES", "PASSED", "FAILED", "SKIPPED"), cells)
    print()
    for label, value in checkup.environment.items():
        print(f"{label + ':':<12}{value}")
    print(f"{'selected:':<12}platform {checkup.platform or NOTHING}")
    print()
    for finding in checkup.findings:
        print(finding_line(finding))
    failed = sum(finding.level == "failed" for finding in checkup.findings)
    print(f"{failed} failed" if failed else "all is well")
    sys.stdout.flush()


def plugin_row(plugin: PluginCheckup) -> tuple[str, ...]:
    """A plugin's name, origin, state and what its registration costs."""
    report = plugin.report
    origin = f"{report['distribution']} {report['version']}".strip()
    return (plugin.name, origin, report["state"], *costs(plugin.cost), counts(plugin.checks))


def target_row(plugin: PluginCheckup, target: TargetCheckup) -> tuple[str, ...]:
    """An implementation: what offers it is for, and what its import costs."""
    uses = [use.partition(" ")[0] for use in target.uses]
    used = uses[0] if len(uses) == 1 else f"{uses[0]}, ... ({len(uses)})"
    return (plugin.name, target.target, used, *costs(target.cost), counts(target.checks))


def costs(cost: Cost | None) -> tuple[str, str]:
    """Time and memory."""
    return (f"{cost.seconds:.2f} s", f"{cost.bytes / 2**20:.1f} MiB") if cost else (NOTHING, NOTHING)


def counts(checks: Sequence[Check]) -> str:
    """``3 ok, 1 skipped``."""
    words = ("ok", "warning", "failed", "skipped")
    numbers = {word: sum(check.result == word for check in checks) for word in words}
    return ", ".join(f"{number} {word}" for word, number in numbers.items() if number) or NOTHING


def finding_line(finding: Finding) -> str:
    """Level, subject, message and what to do."""
    fix = f". To do: {finding.fix}" if finding.fix else ""
    return f"{finding.level}: {finding.about}: {finding.message}{fix}"
