"""docs/plugins/testing.md: its example passes its suite, its tests run, and every suite and fixture is on the page."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import pytest
from doc_examples import write_files
from workspace import ROOT

from kernelet.testing import pytest_plugin
from kernelet.testing.faults import DOMAINS, faults_of

PAGE = ROOT / "docs/plugins/testing.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_example_passes_its_suite(tmp_path):
    files = write_files(PAGE, tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\naddopts = --import-mode=importlib\n")
    suites = [str(path) for path in files if path.name in {"conformance.py", "test_engine.py"}]
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *suites]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b\d+ passed, 1 skipped", done.stdout), done.stdout
    assert "the policy does not promise it" in done.stdout


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_suite_is_there(domain):
    module = importlib.import_module(f"kernelet.testing.{domain}")
    (suite,) = [name for name in module.__all__ if name.endswith("Suite")]
    assert f"| `{domain}.{suite}` |" in TEXT


def test_every_fixture_is_there():
    fixtures = [name for name in vars(pytest_plugin) if name.startswith("kernelet_")]
    assert len(fixtures) >= 4
    assert not [name for name in fixtures if f"| `{name}" not in TEXT]


def test_every_fault_is_in_the_table():
    page = (ROOT / "docs/plugins/faults.md").read_text(encoding="utf-8")
    faults = [fault for domain in DOMAINS for fault in faults_of(domain)]
    assert page.count("\n| ") == len(faults) + 1
    assert not [fault.name for fault in faults if fault.says not in page]


def test_links_that_speak_of_suites_lead_here():
    found = {}
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\[(?:suites?|test kit)\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            found[page] = (page.parent / target).resolve()
    assert len(found) >= 3
    assert set(found.values()) == {PAGE}
