"""The whole examination: which children are asked what, and what their answers come to."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec

from kernelet.config import PluginsConfig
from kernelet.errors import PluginError, UnknownPluginError
from kernelet.kernel.allow import AllowList
from kernelet.kernel.compat import core_version, incompatibility
from kernelet.kernel.discovery import FILE, Candidate, discover, unreadable
from kernelet.kernel.doctor import conformance, facts
from kernelet.kernel.doctor.messages import Booted, Check, Cost, Examined, Finding, Job, Loaded, Selected, Target
from kernelet.kernel.doctor.spawn import ChildError, ask
from kernelet.kernel.loader import builtin_candidate, handed_candidates
from kernelet.kernel.plugin_files import file_candidates

DEADLINE = 120.0
"""Seconds for each child; importing torch on a busy machine is the longest that is normal."""


class Bar(Protocol):
    """A progress bar."""

    def advance(self, amount: int = 1) -> None:
        """So much more is done."""


Wait = Callable[[str, int], AbstractContextManager[Bar]]
"""Makes a progress bar: what is waited for, and how many."""


class TargetCheckup(msgspec.Struct, frozen=True, kw_only=True):
    """An import string of a plugin's offers; ``cost`` is None where it could not be imported."""

    target: str
    uses: list[str]
    cost: Cost | None
    checks: list[Check]


class PluginCheckup(msgspec.Struct, kw_only=True):
    """One plugin.

    Attributes:
        report: The object of ``plugins show --json``.
        cost: Of importing ``plugin.py``; None: it was not imported, or that failed.
        checks: Of the plugin as a whole.
        targets: Of each import string.
        conformance: Of its suites, where they were run.
    """

    report: dict[str, Any]
    cost: Cost | None = None
    checks: list[Check] = []
    targets: list[TargetCheckup] = []
    conformance: list[conformance.Verdict] = []

    @property
    def name(self) -> str:
        return str(self.report["name"])


class Checkup(msgspec.Struct, frozen=True, kw_only=True):
    """Everything: ``ok`` is whether no finding is a failure; ``platform`` is the one that a start would select."""

    ok: bool
    platform: str
    plugins: list[PluginCheckup]
    findings: list[Finding]
    environment: dict[str, str]


class Doctor:
    """Examines the plugins that a configuration allows."""

    def __init__(
        self, config: PluginsConfig, imports: Sequence[str], wait: Wait, *, deadline: float = DEADLINE
    ) -> None:
        """Finds what is installed; imports nothing.

        Args:
            config: As for a start.
            imports: Plugins given as import strings.
            wait: Makes progress bars.
            deadline: Seconds for each child.

        Raises:
            UnknownPluginError: a listed name is not installed.
        """
        self._config = config
        self._imports = tuple(imports)
        self._wait = wait
        self._deadline = deadline
        self._allow = AllowList.from_config(config)
        found = discover()
        self._unreadable = unreadable(found.notices)
        self._candidates = [builtin_candidate(), *found.candidates, *handed_candidates(imports)]
        self._candidates += file_candidates(config.files)
        self._allow.check_names(self._candidates)
        self._dead: dict[str, str] = {}  # plugins that take their process down, which are kept out of what follows
        self._findings: list[Finding] = []

    def examine(self, names: Collection[str] = (), *, suites: bool = False) -> Checkup:
        """Examines all plugins, or the named ones as closely; what concerns several of them is always looked at.

        Args:
            names: Plugins; empty: all.
            suites: Whether to run the conformance suites of their distributions as well.

        Raises:
            UnknownPluginError: a name is not installed.
            PluginError: the configuration fits no plugin, or suites cannot be run.
        """
        wanted = self._wanted(names)
        modules = conformance.modules({one.distribution for one in wanted}) if suites else []
        loaded = self._load([one for one in wanted if self._runs(one)])
        booted = self._boot()
        targets = [target for target in booted.targets if target.plugin in {one.name for one in wanted}]
        probes = [target for target in booted.targets if any(use.endswith(" probe") for use in target.uses)]
        examined = self._targets(probes, Selected(), "probes")
        selected = self._select()
        rest = [target for target in targets if target not in probes and target.plugin not in self._dead]
        examined += self._targets(rest, selected, "implementations")
        verdicts = self._suites(modules)
        plugins = [
            self._plugin(report, loaded, examined, verdicts)
            for report in booted.reports
            if report["name"] in {one.name for one in wanted}
        ]
        findings = [*booted.findings, *selected.findings, *self._findings, *self._requirements(wanted)]
        for plugin in plugins:
            findings += _of_checks(plugin)
        findings = [one for one in dict.fromkeys(findings) if _concerns(one, names, self._candidates)]
        findings.sort(key=lambda one: ("failed", "warning", "note").index(one.level))
        return Checkup(
            ok=all(one.level != "failed" for one in findings),
            platform=selected.platform,
            plugins=plugins,
            findings=findings,
            environment=facts.environment(),
        )

    # --- steps -----------------------------------------------------------------------------------

    def _wanted(self, names: Collection[str]) -> list[Candidate]:
        known = {candidate.name for candidate in self._candidates}
        for name in names:
            if name not in known:
                there = ", ".join(sorted(known))
                raise UnknownPluginError(f"no plugin is called {name!r}; installed are {there}{self._unreadable}")
        return [candidate for candidate in self._candidates if not names or candidate.name in names]

    def _runs(self, candidate: Candidate) -> bool:
        """Whether metadata and lists let it be imported; the boot says why not."""
        twins = [one for one in self._candidates if one.name == candidate.name]
        always = candidate.handed or candidate.name == builtin_candidate().name
        return (
            len(twins) == 1
            and not candidate.problem
            and not self._allow.refusal(candidate.name, always=always)
            and not incompatibility(candidate, core_version())
        )

    def _job(self, task: Any, **fields: Any) -> Job:
        block = (*self._config.block, *self._dead)
        config = dataclasses.replace(self._config, block=block)
        return Job(task=task, config=config, imports=self._imports, path=list(sys.path), **fields)

    def _load(self, candidates: Sequence[Candidate]) -> dict[str, Loaded]:
        found = {}
        with self._wait("plugins", len(candidates)) as bar:
            for one in candidates:
                job = self._job("load", plugin=one.name, entry_point=FILE + one.file if one.file else one.entry_point)
                try:
                    found[one.name] = ask(job, Loaded, self._deadline)
                except ChildError as error:
                    self._dead[one.name] = f"importing {one.entry_point} or calling its hooks: {error}"
                bar.advance()
        return found

    def _boot(self) -> Booted:
        try:
            booted = ask(self._job("boot"), Booted, self._deadline)
        except ChildError as error:
            raise PluginError(f"all plugins together cannot be loaded: {error}") from error
        if booted.error:
            raise PluginError(booted.error)
        return booted

    def _select(self) -> Selected:
        try:
            return ask(self._job("select"), Selected, self._deadline)
        except ChildError as error:
            text = f"selecting among what the plugins offer: {error}"
            self._findings.append(Finding(level="failed", about="selection", message=text))
            return Selected()

    def _targets(
        self, targets: Sequence[Target], selected: Selected, what: str
    ) -> list[tuple[Target, Examined | None, str]]:
        """Answers of each import string's child, or how it ended."""
        found: list[tuple[Target, Examined | None, str]] = []
        with self._wait(what, len(targets)) as bar:
            for target in targets:
                job = self._job(
                    "target",
                    plugin=target.plugin,
                    target=target.text,
                    platforms=selected.platforms,
                    features=selected.features,
                    compute_capability=selected.compute_capability,
                )
                try:
                    found.append((target, ask(job, Examined, self._deadline), ""))
                except ChildError as error:
                    found.append((target, None, str(error)))
                    if what == "probes":
                        self._dead[target.plugin] = f"probing {target.text}: {error}"
                bar.advance()
        return found

    def _suites(self, modules: Sequence[tuple[str, str]]) -> list[conformance.Verdict]:
        found = []
        with self._wait("suites", len(modules)) as bar:
            for plugin, module in modules:
                found.append(conformance.examine(plugin, module))
                bar.advance()
        return found

    # --- what it comes to ------------------------------------------------------------------------

    def _plugin(
        self,
        report: dict[str, Any],
        loaded: dict[str, Loaded],
        examined: Iterable[tuple[Target, Examined | None, str]],
        verdicts: Iterable[conformance.Verdict],
    ) -> PluginCheckup:
        name = report["name"]
        if name in self._dead:
            report = report | {"state": "failed", "reason": self._dead[name], "fix": "fix or upgrade the plugin"}
            report["fix"] += f", or run without it: KERNELET_PLUGINS_BLOCK={name}"
        mine = [(target, answer, how) for target, answer, how in examined if target.plugin == name]
        deprecated = dict.fromkeys(report["deprecated"])
        for _, answer, _ in mine:
            deprecated |= dict.fromkeys(answer.deprecated if answer else ())
        one = loaded.get(name)
        return PluginCheckup(
            report=report | {"deprecated": list(deprecated)},
            cost=one.cost if one else None,
            checks=one.checks if one else [],
            targets=[_target(*entry) for entry in mine],
            conformance=[verdict for verdict in verdicts if verdict.plugin == name],
        )

    def _requirements(self, wanted: Iterable[Candidate]) -> Iterator[Finding]:
        for one in wanted:
            if not self._allow.refusal(one.name, always=one.handed) and not incompatibility(one, core_version()):
                for text in facts.unmet(one.requirements):
                    fix = f"pip install -U {one.distribution}"
                    yield Finding(level="failed", about=one.name, message=text, fix=fix)


def _target(target: Target, answer: Examined | None, how: str) -> TargetCheckup:
    checks = answer.checks if answer else [Check(what="import and trials", result="failed", message=how)]
    return TargetCheckup(target=target.text, uses=target.uses, cost=answer.cost if answer else None, checks=checks)


def _of_checks(plugin: PluginCheckup) -> Iterator[Finding]:
    report = plugin.report
    if report["state"] == "failed":
        yield Finding(level="failed", about=plugin.name, message=f"failed: {report['reason']}", fix=report["fix"])
    for line in report["deprecated"]:
        yield Finding(level="warning", about=plugin.name, message=f"it uses {line}")
    for where, check in [
        *(("", check) for check in plugin.checks),
        *((target.target, check) for target in plugin.targets for check in target.checks),
    ]:
        if check.result == "failed" or check.result == "warning":  # noqa: PLR1714 - a set would not narrow the type
            text = ": ".join(part for part in (check.offer, where, check.what, check.message) if part)
            yield Finding(level=check.result, about=plugin.name, message=text)
    for verdict in plugin.conformance:
        yield from verdict.findings()


def _concerns(finding: Finding, names: Collection[str], candidates: Iterable[Candidate]) -> bool:
    """With names given, findings about other plugins are left out; those about all of them stay."""
    return not names or finding.about in names or finding.about not in {one.name for one in candidates}
