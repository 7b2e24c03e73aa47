from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Capabilities, PlatformConfig, PlatformOffer, Probe
from kernelet.contracts.plugins import Owned
from kernelet.errors import PluginError, SelectionError
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.kinds import kind_of
from kernelet.kernel.record import Record
from kernelet.kernel.report import State
from kernelet.kernel.select.pick import Request
from kernelet.kernel.select.platform import best_platform, describe_platform, named_platform, probe

REQUEST = Request(kind=kind_of(PlatformOffer))


def owned(name):
    offer = PlatformOffer(name=name, target="m:D", probe=f"probes:{name}", config="m:C", worker="m:W")
    return Owned(offer=offer, plugin=f"plugin-{name}")


def loading(**probes):
    """A loader of probes that are given by value, or by the exception that they raise."""

    def load(owned, target):
        result = probes[target.partition(":")[2]]

        def run():
            if isinstance(result, BaseException):
                raise result
            return result

        return result if result == "not callable" else run

    return load


HERE = Probe(available=True, reason="it is here")
FAST = Probe(available=True, reason="it is fast", priority=100)
ABSENT = Probe(available=False, reason="no device", priority=100)


@pytest.mark.parametrize(
    "result, state, reason",
    [
        (HERE, "active", "it is here"),
        (ABSENT, "declined", "no device"),
        (OSError("driver"), "failed", "OSError: driver"),
        (SystemExit(1), "failed", "SystemExit: 1"),
        (True, "failed", "probes:a returned bool, not a Probe"),
        ("not callable", "failed", "probes:a is not a function"),
    ],
)
def test_probe(result, state, reason):
    probed = probe(owned("a"), loading(a=result))
    assert (probed.state, probed.reason) == (state, reason)
    assert probed.remark.state == state


def choose(records=(), **probes):
    load = loading(**probes)
    request = Request(kind=kind_of(PlatformOffer), records=records)
    return best_platform(request, [probe(owned(name), load) for name in probes])


def test_an_accelerator_beside_a_cpu():
    choice = choose(cpu=HERE, fast=FAST, gone=ABSENT)
    assert choice.chosen.offer.name == "fast"
    assert choice.reason == "the best of 2 that fit; it is fast"
    assert choice.refused == {"cpu": "fast comes first (100 against 0)", "gone": "no device"}


def test_an_unavailable_one_never_wins_by_priority():
    assert choose(cpu=HERE, gone=ABSENT).chosen.offer.name == "cpu"


def test_equal_ones():
    with pytest.raises(
        SelectionError, match=r"a \(plugin-a\), b \(plugin-b\). Name one: --platform NAME or KERNELET_PLATFORM"
    ):
        choose(a=FAST, b=FAST, cpu=HERE)


def test_a_lower_one_that_fails_stops_too():
    with pytest.raises(SelectionError, match=r"'weak' .* failed"):
        choose(fast=FAST, weak=OSError("x"))


def test_none():
    with pytest.raises(SelectionError, match="gone: no device"):
        choose(gone=ABSENT)


@pytest.mark.parametrize(
    "state, api, hooks, stops",
    [
        (State.FAILED, ("platform",), (), True),
        (State.FAILED, (), ("kernelet_platforms",), True),
        (State.INCOMPATIBLE, ("platform",), (), True),
        (State.BLOCKED, ("platform",), (), False),
        (State.FAILED, ("op",), (), False),
        (State.FAILED, (), (), False),
    ],
)
def test_plugins_that_did_not_load(state, api, hooks, stops):
    candidate = Candidate(name="p", entry_point="m", distribution="d", api=tuple((a, "x") for a in api))
    record = Record(candidate=candidate, state=state, reason="why", hooks=frozenset(hooks))
    if stops:
        with pytest.raises(SelectionError, match=r"'p' .* why. It may be this machine's platform"):
            choose([record], cpu=HERE)
    else:
        assert choose([record], cpu=HERE).chosen.offer.name == "cpu"


def name(name, **probes):
    return named_platform(REQUEST, [owned(n) for n in probes], name, loading(**probes))


def test_named():
    choice = name("cpu", cpu=HERE, fast=FAST, broken=OSError("x"))
    assert choice.chosen.offer.name == "cpu"
    assert choice.refused == {"fast": "cpu was named", "broken": "cpu was named"}


@pytest.mark.parametrize(
    "result, message", [(OSError("driver"), "OSError: driver"), (ABSENT, "no device"), (3, "not a Probe")]
)
def test_named_and_not_usable(result, message):
    with pytest.raises(SelectionError, match=f"{message}.*No other"):
        name("a", a=result, cpu=HERE)


class Config(PlatformConfig):
    found: object = Capabilities(device_type="x", dtypes=("float32",), memory_bytes=1)

    def capabilities(self):
        return self.found

    def attention_order(self):
        return ["b", "a"]


def test_describe():
    choice = describe_platform("x", Config(Settings(plugin="p")))
    assert (choice.name, choice.capabilities, choice.attention_order) == ("x", Config.found, ("b", "a"))


def test_describe_something_else():
    with pytest.raises(PluginError, match=r"dict is no kernelet.contracts.platform.PlatformConfig"):
        describe_platform("x", {})

    class Wrong(Config):
        found = None

    with pytest.raises(PluginError, match=r"capabilities\(\) returned NoneType"):
        describe_platform("x", Wrong(Settings(plugin="p")))
