"""Boots all plugins that survived their import, and says what became of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kernelet.errors import ConfigError, LockError, PluginError
from kernelet.kernel import Kernel
from kernelet.kernel.doctor.messages import Booted, Finding, Job, Target
from kernelet.kernel.kinds import KINDS
from kernelet.kernel.offers import IMPORT_STRINGS
from kernelet.kernel.report import PluginReport, State


def start(job: Job) -> Kernel:
    """The job's plugins; no plugin's failure stops it, and no lock file.

    Raises:
        ConfigError: an option that no plugin has.
        PluginError: a name that is not installed.
    """
    config = dataclasses.replace(job.config, locked="")
    return Kernel.boot(config, plugins=job.imports, report_only=True)


def boot(job: Job) -> Booted:
    """Reports, import strings and findings."""
    try:
        kernel = start(job)
    except (ConfigError, PluginError) as error:
        return Booted(error=str(error))
    findings = [Finding(level="warning", about="metadata", message=notice) for notice in kernel.notices]
    for report in kernel.reports:
        findings += _of_report(report)
    if job.config.locked:
        findings += _drift(kernel, job.config.locked)
    return Booted(
        reports=[report.details() for report in kernel.reports], targets=list(_targets(kernel)), findings=findings
    )


def _of_report(report: PluginReport) -> Iterator[Finding]:
    if report.state in {State.FAILED, State.INCOMPATIBLE}:
        yield Finding(level="failed", about=report.name, message=f"{report.state}: {report.reason}", fix=report.fix)
    for line in report.deprecated:
        yield Finding(level="warning", about=report.name, message=f"it uses {line}")


def _drift(kernel: Kernel, file: str) -> Iterator[Finding]:
    try:
        kernel.check_lock(file)
    except LockError as error:
        yield Finding(level="failed", about=file, message=str(error))


def _targets(kernel: Kernel) -> Iterator[Target]:
    """Import strings of all active plugins, each once, however many offers use it."""
    uses: dict[tuple[str, str], list[str]] = {}
    for kind in KINDS:
        for owned in kernel.offers(kind.offer):
            for field in IMPORT_STRINGS:
                if text := getattr(owned.offer, field, ""):
                    uses.setdefault((owned.plugin, text), []).append(f"{kind.key(owned.offer)} {field}")
    for (plugin, text), names in sorted(uses.items()):
        yield Target(plugin=plugin, text=text, uses=names)
