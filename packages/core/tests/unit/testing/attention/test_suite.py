from __future__ import annotations

import pytest

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.offer import Settings
from kernelet.testing.attention import AttentionCapabilities, AttentionSuite, SlowKept
from kernelet.testing.attention.kept import FORMS
from kernelet.testing.attention.steps import PagedRequests, hold
from kernelet.testing.offered import Offered
from kernelet.testing.verdict import ConformanceError

OFFERED = Offered(
    offer=AttentionOffer(
        name="slow",
        target="x:y",
        kinds=frozenset({"full", "sliding", "mla", "tree"}),
        soft_cap=True,
        sinks=True,
        cache_dtypes=FORMS,
    ),
    settings=Settings(plugin="x"),
    target=SlowKept,
)


class TestReference(AttentionSuite):
    """The reference passes, with every promise that there is."""

    capabilities = AttentionCapabilities(batch_invariant=True)

    @pytest.fixture
    def offered(self):
        return OFFERED


def test_a_suite_without_its_fixture_says_which():
    with pytest.raises(NotImplementedError, match="find_offer"):
        AttentionSuite.offered.__wrapped__(None)


def test_hold_uses_its_sentence(layers):
    spec = layers.plain()
    hold(PagedRequests(OFFERED, spec, "cpu"), [{"a": 3}, {"a": 1, "b": 2}], 1e-12, "x")
    with pytest.raises(ConformanceError, match=r"^x \(error"):
        hold(PagedRequests(OFFERED, spec, "cpu"), [{"a": 3}], -1.0, "x")
