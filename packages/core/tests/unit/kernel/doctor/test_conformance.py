from __future__ import annotations

import importlib.util
import sys

import pytest

from kernelet.errors import PluginError
from kernelet.kernel.doctor import conformance
from kernelet.kernel.doctor.conformance import Failed, Verdict, examine, modules, read_report, sentence

SUITE = """
from kernelet.testing.verdict import check
import pytest


class TestPolicy:
    def test_good(self):
        check(True, "never said")

    def test_bad(self):
        check(False, "evict() must give up each added block exactly once")

    def test_odd(self):
        raise OSError("no disk\\nmore")

    @pytest.mark.skip(reason="no card")
    def test_skipped(self):
        pass

    @pytest.mark.xfail(reason="cannot")
    def test_known(self):
        check(False, "known")
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """A module with suites that children find as well, and a pytest configuration that must not count."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "suites_of_a_vendor").mkdir()

    def write(source):
        (tmp_path / "suites_of_a_vendor/__init__.py").write_text("")
        (tmp_path / "suites_of_a_vendor/conformance.py").write_text(source)
        return "suites_of_a_vendor.conformance"

    return write


def test_a_module_of_suites(suite):
    verdict = examine("p", suite(SUITE), 120)
    assert (verdict.passed, verdict.skipped, verdict.error) == (1, 2, "")
    assert verdict.failed == [
        Failed(test="TestPolicy.test_bad", message="evict() must give up each added block exactly once"),
        Failed(test="TestPolicy.test_odd", message="OSError: no disk"),
    ]
    first = verdict.findings()[0]
    assert (first.level, first.about) == ("failed", "p")
    assert first.message == "evict() must give up each added block exactly once (TestPolicy.test_bad)"
    assert "python -m pytest --pyargs suites_of_a_vendor.conformance" in first.fix


@pytest.mark.parametrize(
    "source, message",
    [
        ("X = 1\n", "no test of it passed or failed"),
        ("import os\nos._exit(3)\n", "pytest: it ended its process with exit code 3"),
    ],
    ids=["empty", "exits"],
)
def test_no_verdict(suite, source, message):
    verdict = examine("p", suite(source), 120)
    assert verdict.error.startswith(message)
    assert [one.level for one in verdict.findings()] == ["failed"]


def test_a_module_that_cannot_be_imported(suite):
    verdict = examine("p", suite("import no_such_library\n"), 120)
    assert verdict.passed == 0
    assert [one.message for one in verdict.failed] == ["ModuleNotFoundError: No module named 'no_such_library'"]


def test_suites_that_hang(suite):
    assert "it hangs: it was ended after 3 s" in examine("p", suite("import time\ntime.sleep(100)\n"), 3).error


def test_several_sentences_of_one_test():
    text = "E  x.ConformanceError: one must not\nE  x.ConformanceError: two must\nx.ConformanceError: one must not\n"
    assert sentence("ExceptionGroup: Hypothesis found 2 distinct failures. (2 sub-exceptions)", text) == (
        "one must not; two must"
    )
    assert sentence("", "") == "it failed without a word"


def test_an_error_in_a_fixture_is_a_failure():
    report = '<testsuites><testsuite><testcase classname="m.T" name="t"><error message="boom"/></testcase></testsuite>'
    assert read_report("p", "m", report + "</testsuites>") == Verdict(
        plugin="p", module="m", failed=[Failed(test="T.t", message="boom")]
    )


def test_which_modules(tmp_path, monkeypatch):
    info = tmp_path / "Acme_Thing-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Acme.Thing\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kernelet.conformance]\nb = acme.b\na = acme.a\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert modules({"acme-thing"}) == [("a", "acme.a"), ("b", "acme.b")]
    assert modules({"other"}) == []


@pytest.mark.parametrize("missing", ["pytest", "hypothesis"])
def test_without_pytest(monkeypatch, missing):
    found = importlib.util.find_spec
    monkeypatch.setattr(conformance.importlib.util, "find_spec", lambda name: None if name == missing else found(name))
    with pytest.raises(PluginError, match=r'pip install "kernelet-core\[testing\]"'):
        modules({"kernelet-core"})
    assert missing in sys.modules
