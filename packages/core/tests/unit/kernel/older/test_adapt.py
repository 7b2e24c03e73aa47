from __future__ import annotations

import pytest

from kernelet.contracts.cache import CachePolicyOffer, EvictionPolicy
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.offer import Settings
from kernelet.contracts.stats import StatLogger, StatLoggerOffer
from kernelet.contracts.versions import API_VERSIONS
from kernelet.errors import PluginError
from kernelet.kernel.compat import oldest_major
from kernelet.kernel.deprecations import DEPRECATIONS, Kind
from kernelet.kernel.kinds import kind_of
from kernelet.kernel.older.adapt import SERVED, as_today

SETTINGS = Settings(plugin="p")


class Policy(EvictionPolicy):
    def add(self, block_id): ...
    def remove(self, block_id): ...
    def evict(self): ...
    def __len__(self):
        return 0


class Old(Policy):
    def __init__(self):
        super().__init__()


class New(Policy):
    def __init__(self, settings, num_blocks):
        super().__init__(settings, num_blocks)


class Neither(Policy):
    def __init__(self, a, b, c): ...


class Lenient(Policy):
    def __init__(self, *anything):
        super().__init__(*anything)
        self.anything = anything


def offer(**fields):
    return CachePolicyOffer(name="x", target="acme:X", **fields)


@pytest.mark.parametrize(
    "target, api, size",
    [(Old, "1.0", None), (New, "2.0", 7), (Policy, "2.0", 7), (Policy, "1.0", None), (Lenient, "2.0", 7)],
)
def test_every_major_is_made_as_today(target, api, size):
    made = as_today(offer(api=api), target, "acme")(SETTINGS, 7)
    assert isinstance(made, target)
    assert getattr(made, "num_blocks", None) == size


def test_an_old_class_is_given_what_its_major_gave():
    assert as_today(offer(api="1.0"), Lenient, "acme")(SETTINGS, 7).anything == ()


def test_todays_class_is_left_alone():
    assert as_today(offer(api="2.0"), New, "acme") is New


def test_a_new_class_with_the_default_api():
    with pytest.raises(PluginError) as raised:
        as_today(offer(), New, "acme 1.0")
    assert str(raised.value) == (
        "acme:X of acme 1.0 cannot be made with (), as its offer says with api='1.0'. It takes (settings, num_blocks), "
        'which is cache 2.0: write CachePolicyOffer(..., api="2.0")'
    )


def test_an_old_class_that_states_todays():
    with pytest.raises(PluginError, match=r"with api='2.0'. It takes \(\), which is cache 1.0: .*api=\"1.0\""):
        as_today(offer(api="2.0"), Old, "acme")


@pytest.mark.parametrize("api", ["1.0", "2.0"])
def test_a_class_of_neither(api):
    with pytest.raises(PluginError, match=r"\(cache [12]\); cache 2.0 gives \(settings, num_blocks\)"):
        as_today(offer(api=api), Neither, "acme")


@pytest.mark.parametrize("target", [int, StatLogger, EvictionPolicy])
@pytest.mark.parametrize("api", ["1.0", "2.0"])
def test_what_is_no_implementation(target, api):
    with pytest.raises(PluginError, match=r"acme:X of acme is no EvictionPolicy: .* is missing"):
        as_today(offer(api=api), target, "acme")


def test_other_kinds_and_functions_are_left_alone():
    assert as_today(SchedulerOffer(name="x", target="acme:X"), int, "acme") is int
    assert as_today(offer(), len, "acme") is len


def test_a_served_major_is_the_one_before_todays_and_deprecated():
    """And every kind whose constructor changed is in the table: its contract is at 2.0 for that."""
    told = {(entry.domain, entry.what) for entry in DEPRECATIONS if entry.kind is Kind.CONTRACT}
    for older in SERVED:
        domain = kind_of(older.offer).domain
        assert older.major == API_VERSIONS[domain].major - 1 == oldest_major(API_VERSIONS[domain])
        assert (domain, f"v{older.major}") in told
    assert {older.offer for older in SERVED} == {CachePolicyOffer, StatLoggerOffer}
