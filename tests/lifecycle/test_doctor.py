"""The doctor in an environment that is ill in many ways at once."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from planted import Planted, Site, good, platform

OLD = """
from kernelet.contracts.cache import CachePolicyOffer


@hookimpl
def kernelet_cache_policies():
    return (CachePolicyOffer(name="old", target="planted_kernelet_old:Policy", api="1.0", priority=-100),)


class Policy:
    pass
"""

CHECKED = """
@hookimpl
def kernelet_schedulers():
    return (
        SchedulerOffer(
            name="checked",
            target="kernelet.scheduler.policies:FCFSPolicy",
            self_check="planted_kernelet_checked:check",
            priority=5,
            conflicts=("executor:equal",),
        ),
    )


def check(settings):
    raise RuntimeError("the licence of this machine has expired: renew it")
"""

EQUAL = """
@hookimpl
def kernelet_schedulers():
    return (SchedulerOffer(name="equal", target="kernelet.scheduler.policies:FCFSPolicy", priority=5),)
"""

DIES = """
@hookimpl
def kernelet_schedulers():
    import os, signal

    os.kill(os.getpid(), signal.SIGKILL)
"""

LOUD = """
import sys, threading
print("welcome")
threading.Thread(target=threading.Event().wait, name="stays").start()
sys.stdout = None
"""

ILL = (
    Planted("old", OLD, api={"cache": "v1"}),
    Planted("checked", CHECKED),
    Planted("equal", EQUAL),
    Planted("dies", DIES),
    Planted("exits", "import os\nos._exit(0)\n"),
    Planted("loud", LOUD + good("loud").source),
    Planted("incompatible", "", requires=("kernelet-core>=99",)),
    good("needy", requires=("kernelet-core>=0.1", "packaging>=9999", "no-such-library")),
    good("shadowed"),
    good("twice"),
    good("twice", distribution="acme-twice"),
    platform("x", "raise OSError", requires=("kernelet-core>=0.1",)),
)


@pytest.fixture(scope="module")
def examined(first_house, tmp_path_factory):
    """The doctor's object."""
    house, front = first_house, tmp_path_factory.mktemp("front")
    house.uninstall()
    house.install(*ILL)
    Site(front).install(good("shadowed", version="2.0"))
    variables = {"KERNELET_PLUGINS_BLOCK": "platform-x", "PYTHONPATH": str(front)}
    out = house.environment.kernelet("plugins", "doctor", "--json", check=False, **variables)
    found = json.loads(out.splitlines()[0])
    house.uninstall()
    return found


def messages(found, level, about):
    return [
        f"{one['message']}. {one['fix']}" for one in found["findings"] if (one["level"], one["about"]) == (level, about)
    ]


@pytest.mark.parametrize(
    "level, about, part",
    [
        ("failed", "dies", "calling its hooks: it ended its process by SIGKILL"),
        (
            "failed",
            "exits",
            "importing planted_kernelet_exits or calling its hooks: it ended its process with exit code 0",
        ),
        ("warning", "loud", "registration printed 'welcome'"),
        ("warning", "loud", "registration left the thread 'stays', which keeps the process from ending"),
        ("failed", "loud", "it replaced sys.stdout of this process, which was put back"),
        ("failed", "checked", "its own check: RuntimeError: the licence of this machine has expired: renew it"),
        ("failed", "incompatible", "incompatible: kernelet-incompatible 1.0 needs kernelet-core>=99"),
        ("failed", "needy", "it requires packaging>=9999, here is "),
        ("failed", "needy", "it requires no-such-library, which is not installed"),
        ("failed", "twice", "claimed by acme-twice 1.0 and kernelet-twice 1.0; neither was imported"),
        ("failed", "old", "is no EvictionPolicy"),
        ("warning", "old", "it uses cache contract v1, deprecated since cache 2.0, goes away in kernelet-core "),
        ("warning", "metadata", "kernelet-shadowed is installed twice: 2.0 in "),
        ("warning", "checked", "executor:checked does not work together with executor:equal"),
        ("failed", "selection", "Several are equally good as scheduling policy: checked (checked), equal (equal)"),
        ("failed", "selection", "platform-x blocked: named in KERNELET_PLUGINS_BLOCK"),
        ("failed", "selection", "kernelet-platform-NAME"),
        ("failed", "selection", "kernelet_model_architectures"),
        ("failed", "needy", "planted.policies"),
    ],
)
def test_each_illness_is_found(examined, level, about, part):
    found = messages(examined, level, about)
    assert any(part in message for message in found), found


def test_the_healthy_ones_are_examined_all_the_same(examined):
    assert not examined["ok"]
    plugins = {plugin["report"]["name"]: plugin for plugin in examined["plugins"]}
    assert plugins["equal"]["report"]["state"] == "active"
    (target,) = plugins["equal"]["targets"]
    assert [check["result"] for check in target["checks"]] == ["ok", "ok"]
    assert target["cost"]["seconds"] > 0
    assert plugins["core"]["cost"] is not None
    assert plugins["dies"]["report"]["state"] == "failed"
    assert plugins["dies"]["targets"] == []
    assert plugins["platform-x"]["report"]["state"] == "blocked"
    assert plugins["platform-x"]["cost"] is None  # blocked: nobody imported it


SUITE = """
from kernelet.testing.verdict import check


class TestPolicy:
    def test_good(self):
        check(True, "-")

    def test_bad(self):
        check({ok}, "key() must not change while the request lives")
"""


@pytest.mark.parametrize("ok", [True, False])
def test_the_suites_that_a_package_brings(house, ok):
    from kernelet.testing.planter import plant

    plugin = replace(
        good("suited"),
        source=good("suited").source.replace("planted.policies:Policy", "kernelet.scheduler.policies:FCFSPolicy"),
    )
    made = plugin.as_installed()
    suites = {"suites_of_suited.py": SUITE.format(ok=ok)}
    points = made.entry_points | {"kernelet.conformance": {"suited": "suites_of_suited"}}
    house.install(good("other"))
    plant(house.site, replace(made, files={**made.files, **suites}, entry_points=points))
    out = house.environment.kernelet("plugins", "doctor", "suited", "--conformance", "--json", check=False)
    found = json.loads(out.splitlines()[0])
    (plugin,) = found["plugins"]
    (verdict,) = plugin["conformance"]
    assert verdict["passed"] == 1 + ok
    mine = messages(found, "failed", "suited")
    assert len(mine) == (0 if ok else 1)
    assert ok or mine[0].startswith("key() must not change while the request lives (TestPolicy.test_bad)")
