"""Runs the suites that distributions name under the entry point group ``kernelet.conformance``, with pytest."""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable
from importlib.metadata import entry_points
from pathlib import Path

import msgspec
from packaging.utils import canonicalize_name

from kernelet.errors import PluginError
from kernelet.kernel.doctor.messages import Finding
from kernelet.kernel.doctor.spawn import SHOWN, ending, run

GROUP = "kernelet.conformance"
"""Entry points of this group name a plugin and the module with its suites."""

DEADLINE = 3600.0
"""Seconds for all suites of one module; numerics against slow references take minutes."""

UNCOLLECTED = "collection failure"
ERROR = re.compile(r"^E +(.+)$", re.MULTILINE)
SENTENCE = re.compile(r"ConformanceError: (.+)")


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """A test of a suite that failed, and the sentence that says what the contract asks for."""

    test: str
    message: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a module's suites said.

    Attributes:
        plugin: The entry point's name.
        module: The module.
        passed: Tests that passed.
        skipped: Tests that were skipped, or are expected to fail and say why.
        failed: Tests that failed.
        error: Why there is no verdict: no test was run, or pytest ended early.
    """

    plugin: str
    module: str
    passed: int = 0
    skipped: int = 0
    failed: list[Failed] = []
    error: str = ""

    def findings(self) -> Iterable[Finding]:
        """One for each failure."""
        texts = [f"{one.message} ({one.test})" for one in self.failed] + ([self.error] if self.error else [])
        fix = f"see {self.module}: python -m pytest --pyargs {self.module}"
        return [Finding(level="failed", about=self.plugin, message=text, fix=fix) for text in texts]


def modules(distributions: Collection[str]) -> list[tuple[str, str]]:
    """Plugin and module of each entry point of these distributions, sorted.

    Raises:
        PluginError: pytest or hypothesis is not installed.
    """
    if not all(importlib.util.find_spec(name) for name in ("pytest", "hypothesis")):
        raise PluginError('the conformance suites need pytest and hypothesis: pip install "kernelet-core[testing]"')
    wanted = {canonicalize_name(name) for name in distributions}
    points = entry_points(group=GROUP)
    return sorted({(p.name, p.value) for p in points if p.dist and canonicalize_name(p.dist.name) in wanted})


def examine(plugin: str, module: str, deadline: float = DEADLINE) -> Verdict:
    """Runs one module's suites in a child, in an empty folder and without anybody's pytest configuration."""
    with tempfile.TemporaryDirectory(prefix="kernelet-conformance-") as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        report, output = folder / "report.xml", folder / "output"
        options = ["-q", "-c", str(folder / "pytest.ini"), "-p", "no:cacheprovider", f"--junitxml={report}"]
        command = [sys.executable, "-P", "-m", "pytest", *options, "--pyargs", module]
        code = run(command, output, deadline, cwd=folder)
        words = " ".join(output.read_text(encoding="utf-8", errors="replace").split())[-SHOWN:]
        if not report.is_file():
            return Verdict(plugin=plugin, module=module, error=f"pytest: {ending(code, deadline)}; {words}")
        verdict = read_report(plugin, module, report.read_text(encoding="utf-8"))
    if not verdict.passed and not verdict.failed:
        return msgspec.structs.replace(verdict, error=f"no test of it passed or failed; {words}")
    return verdict


def read_report(plugin: str, module: str, text: str) -> Verdict:
    """The verdict in pytest's JUnit report."""
    passed, skipped, failed = 0, 0, []
    for case in ET.fromstring(text).iter("testcase"):  # noqa: S314 - pytest wrote it just now
        wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
        if wrong is not None:
            parts = case.get("classname", "").rpartition(".")[2], case.get("name", "")
            test = ".".join(part for part in parts if part) or module
            failed.append(Failed(test=test, message=sentence(wrong.get("message", ""), wrong.text or "")))
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return Verdict(plugin=plugin, module=module, passed=passed, skipped=skipped, failed=failed)


def sentence(message: str, text: str) -> str:
    """What the suite says to the author; for any other error its first line; where nothing was collected, why."""
    if said := SENTENCE.findall(message) or SENTENCE.findall(text):
        return "; ".join(dict.fromkeys(said))
    errors = ERROR.findall(text)
    if message == UNCOLLECTED and errors:
        return str(errors[-1])
    return (message.strip().splitlines() or ["it failed without a word"])[0]
