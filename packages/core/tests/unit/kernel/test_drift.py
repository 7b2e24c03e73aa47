from __future__ import annotations

import dataclasses

import msgspec
import pytest

from kernelet.config import PluginsConfig
from kernelet.errors import LockError
from kernelet.kernel import Kernel
from kernelet.kernel.discovery import discover
from kernelet.kernel.drift import check_installed, check_offers
from kernelet.kernel.lock import LockedRequirement, LockFile, requirement
from kernelet.kernel.record import Record
from kernelet.kernel.report import State

SOURCE = """
from kernelet.contracts.executor import SchedulerOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_schedulers():
    return (SchedulerOffer(name="x", target="m:X", priority=-100),)
"""
POINTS = "[kernelet.plugins]\np = plugin_of_drift\n"


@pytest.fixture
def locked(distributions):
    """The lock file of one plugin, and a function that returns its record as it is now, not imported."""
    distributions.write("d", entry_points=POINTS, files={"plugin_of_drift.py": SOURCE}, metadata="Requires-Dist: numpy")
    folder = str(distributions.folder)
    lock = Kernel.boot(PluginsConfig(block=("core",)), search_path=[folder]).make_lock()

    def record(**changes):
        (candidate,) = discover([folder]).candidates
        return Record(candidate=dataclasses.replace(candidate, **changes))

    return LockFile(file="a.lock", lock=lock), record


def change(locked, **fields):
    return LockFile(file="a.lock", lock=msgspec.structs.replace(locked.lock, **fields))


def difference(locked, *records):
    """The single difference, and the message."""
    with pytest.raises(LockError) as caught:
        check_installed(locked, records)
    ((what, name),) = caught.value.drift
    assert f"\n  {what}, {name}: a.lock: " in str(caught.value)
    assert "kernelet plugins lock -o a.lock" in str(caught.value)
    return what, name, str(caught.value)


def test_the_same_is_no_difference(locked):
    file, record = locked
    check_installed(file, [record(), Record(candidate=record(name="q").candidate, state=State.BLOCKED)])


@pytest.mark.parametrize(
    "changes, expected, sides",
    [
        ({"version": "2.0"}, "changed version", ("d 1.0 (sha256 ", "here: d 2.0 (sha256 ")),
        ({"distribution": "evil"}, "another distribution", ("a.lock: d 1.0", "here: evil 1.0")),
        ({"entry_point": "json"}, "another entry point", ("entry point plugin_of_drift;", "entry point json in")),
        ({"requirements": ("torch",)}, "changed requirements", ("requires numpy;", "requires torch in")),
    ],
)
def test_a_changed_plugin(locked, changes, expected, sides):
    file, record = locked
    what, name, message = difference(file, record(**changes))
    assert (what, name) == (expected, "p")
    assert all(side in message for side in sides)
    assert record().candidate.path in message


def test_changed_files_at_the_same_version(locked, distributions):
    file, record = locked
    before = record().content_hash()
    (distributions.folder / "plugin_of_drift.py").write_text(SOURCE + "# changed\n")
    what, _, message = difference(file, record())
    assert what == "changed files at the same version"
    assert f"a.lock: d 1.0 (sha256 {before[:12]}); here: d 1.0 (sha256 {record().content_hash()[:12]})" in message


def test_a_missing_plugin(locked):
    file, record = locked
    assert difference(file)[:2] == ("missing plugin", "p")
    assert "here: not installed" in difference(file)[2]
    blocked = record()
    blocked.refuse(State.BLOCKED, "named in the list")
    what, _, message = difference(file, blocked)
    assert what == "missing plugin"
    assert "does not run: named in the list" in message


def test_two_that_claim_one_name(locked):
    file, record = locked
    first, second = record(), record(distribution="evil", version="3.0", path="/evil")
    for one in (first, second):
        one.refuse(State.FAILED, "the name is claimed by two")
    what, name, message = difference(file, first, second)
    assert (what, name) == ("missing plugin", "p")
    assert "evil 3.0 in /evil does not run: the name is claimed by two" in message


def test_an_additional_plugin(locked):
    file, record = locked
    what, name, message = difference(change(file, plugin=()), record())
    assert (what, name) == ("additional plugin", "p")
    assert "a.lock: not in it; here: d 1.0 (sha256" in message
    handed = Record(candidate=dataclasses.replace(record().candidate, name="o", entry_point="", distribution=""))
    assert "only import strings can be locked" in difference(change(file, plugin=()), handed)[2]


@pytest.mark.parametrize(
    "field, value, expected",
    [
        ("version", "0.1", "changed requirement"),
        ("sha256", "0" * 64, "changed files of a requirement"),
        ("name", "no-such-distribution", "missing requirement"),
    ],
)
def test_a_requirement(locked, field, value, expected):
    file, record = locked
    numpy, path = requirement("numpy")
    what, name, message = difference(
        change(file, requirement=(msgspec.structs.replace(numpy, **{field: value}),)), record()
    )
    assert (what, name) == (expected, value if field == "name" else "numpy")
    assert ("not installed" if field == "name" else f"here: numpy {numpy.version}") in message
    assert field == "name" or path in message


@pytest.mark.parametrize("field, what", [("python", "Python"), ("platform", "platform")])
def test_another_environment(locked, field, what):
    file, record = locked
    assert difference(change(file, **{field: "elsewhere"}), record())[:2] == ("another environment", what)


def test_all_differences_are_listed(locked):
    file, record = locked
    wrong = change(file, python="PyPy 2.7", requirement=(LockedRequirement(name="absent", version="1", sha256=""),))
    with pytest.raises(LockError) as caught:
        check_installed(wrong, [record(version="2.0"), record(name="q")])
    assert [what for what, _ in caught.value.drift] == [
        "another environment",
        "changed version",
        "additional plugin",
        "missing requirement",
    ]


def test_offers_are_compared_once_they_are_known(locked, distributions):
    file, _ = locked
    kernel = Kernel.boot(PluginsConfig(block=("core",)), search_path=[str(distributions.folder)])
    records = kernel._booted.records
    check_offers(file, records)
    (plugin,) = file.lock.plugin
    other = msgspec.structs.replace(plugin, offers={"executor:x": "0" * 64, "executor:gone": "1" * 64})
    with pytest.raises(LockError) as caught:
        check_offers(change(file, plugin=(other,)), records)
    assert caught.value.drift == (("changed offer", "p's executor:gone"), ("changed offer", "p's executor:x"))
    assert "a.lock: sha256 111111111111; here: not offered" in str(caught.value)
