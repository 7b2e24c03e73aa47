from __future__ import annotations

import subprocess
import sys
from types import ModuleType
from unittest import SkipTest

import pytest

from kernelet.testing.plugin_errors import in_kit, is_of_suite, sentence_about
from kernelet.testing.scheduler import SchedulerSuite
from kernelet.testing.verdict import ConformanceError

PLUGIN = """
from kernelet.contracts.executor import SchedulingPolicy


class Absent(SchedulingPolicy):
    def key(self, request):
        return (self.weight(request), request.arrival_index)

    def weight(self, request):
        return {}["scheduler-foo"]


class TakesNothing(SchedulingPolicy):
    def __init__(self):
        super().__init__(None)

    def key(self, request):
        return (request.arrival_index,)
"""

TESTS = """
import pytest
from acme_policy import Absent, TakesNothing

from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.offer import Settings
from kernelet.testing.offered import Offered
from kernelet.testing.scheduler import SchedulerSuite


class Base(SchedulerSuite):
    @pytest.fixture
    def offered(self):
        offer = SchedulerOffer(name="acme", target=f"acme_policy:{self.policy.__name__}")
        return Offered(offer=offer, settings=Settings(plugin="acme"), target=self.policy)


class TestAbsent(Base):
    policy = Absent

    def test_of_the_vendor(self, offered):
        raise LookupError("of the vendor's own test")


class TestTakesNothing(Base):
    policy = TakesNothing


def test_of_nobody():
    {}["plain"]
"""


def test_says_it_in_one_sentence_and_keeps_the_traceback(tmp_path):
    (tmp_path / "acme_policy.py").write_text(PLUGIN)
    (tmp_path / "test_acme.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", "--color=no"]
    command += ["-k", "key_stays_as_a_request_grows or nobody or vendor"]
    environment = {"COLUMNS": "400", "PATH": ""}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    said = [line.partition(" - ")[2] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    absent = "your plugin raised KeyError('scheduler-foo') in Absent.key(), called as the contract says"
    assert len([line for line in said if absent in line]) == 1, done.stdout
    assert [line for line in said if "does not take or does not return what the contract says: TypeError(" in line]
    assert "LookupError: of the vendor's own test" in said
    assert "KeyError: 'plain'" in said
    assert 'return {}["scheduler-foo"]' in done.stdout
    assert "direct cause of the following exception" in done.stdout


def of(function, target, kit_test=SchedulerSuite.test_key_is_numbers):
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - whatever it is
        function()
    return sentence_about(raised.value, kit_test, target)


def acme():
    module = ModuleType("acme.policy")
    exec("def fails(error): raise error\nclass Policy: pass", module.__dict__)
    return module.fails, module.Policy


@pytest.mark.parametrize("error", [KeyError("a"), AssertionError("b"), ExceptionGroup("c", [ValueError("d")])])
def test_errors_of_the_plugin(error):
    fails, policy = acme()
    if isinstance(error, ExceptionGroup):
        with pytest.raises(ValueError, match="d"):
            fails(error.exceptions[0])
        wanted = repr(error.exceptions[0])
    else:
        wanted = repr(error)
    sentence = of(lambda: fails(error), policy)
    assert sentence == f"your plugin raised {wanted} in fails(), called as the contract says"


@pytest.mark.parametrize("error", [ConformanceError("said"), SkipTest("skipped"), KeyboardInterrupt()])
def test_what_says_all_itself(error):
    fails, policy = acme()
    assert of(lambda: fails(error), policy) is None


def test_others_are_not_spoken_for():
    fails, policy = acme()
    assert of(lambda: fails(KeyError()), policy, kit_test=test_errors_of_the_plugin) is None
    assert of(lambda: fails(KeyError()), Ellipsis) is None


def test_what_a_suite_is():
    assert is_of_suite(SchedulerSuite)
    assert not is_of_suite(None)
    assert not is_of_suite(ModuleType)
    assert in_kit(SchedulerSuite.__module__)
    assert not in_kit("kernelet.testings")
