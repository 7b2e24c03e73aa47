from __future__ import annotations

import pytest

from kernelet.contracts.cache import CachePolicyOffer, CacheSpecOffer
from kernelet.contracts.executor import ExecutorOffer, SchedulerOffer
from kernelet.contracts.model import ModelSourceOffer
from kernelet.contracts.parsing import ReasoningParserOffer, ToolParserOffer
from kernelet.errors import DuplicatePluginError, SealedRegistryError
from kernelet.kernel.kinds import kind_of
from kernelet.kernel.registry import Registry


def entry(cls, name, **fields):
    return kind_of(cls), cls(name=name, target="a:B", **fields)


def test_owners_and_order():
    registry = Registry()
    registry.add("p", [entry(SchedulerOffer, "z"), entry(CachePolicyOffer, "z")])
    registry.add("q", [entry(SchedulerOffer, "a")])
    registry.seal()
    assert [(o.offer.name, o.plugin) for o in registry.offers(SchedulerOffer)] == [("a", "q"), ("z", "p")]
    assert [o.offer.name for o in registry.offers(CachePolicyOffer)] == ["z"]
    assert registry.offers(ExecutorOffer) == ()
    assert {type(o.offer) for o in registry.of_plugin("p")} == {SchedulerOffer, CachePolicyOffer}


@pytest.mark.parametrize(
    "first, second, what",
    [
        (entry(SchedulerOffer, "x"), entry(SchedulerOffer, "x"), "executor 'x'"),
        (entry(SchedulerOffer, "x"), entry(ExecutorOffer, "x"), "executor 'x'"),  # "domain:name" must be one thing
        (entry(CacheSpecOffer, "x", kind="k"), entry(CacheSpecOffer, "y", kind="k"), "cache spec name 'k'"),
        (entry(ModelSourceOffer, "x", models={"m": ""}), entry(ModelSourceOffer, "y", models={"m": ""}), "'m'"),
        (
            entry(ModelSourceOffer, "x", models={}, patterns=("*.m",)),
            entry(ModelSourceOffer, "y", models={"n": ""}, patterns=("*.m",)),
            r"'\*\.m'",
        ),
    ],
)
def test_duplicates_name_both_owners_and_add_nothing(first, second, what):
    registry = Registry()
    registry.add("p", [first])
    with pytest.raises(DuplicatePluginError, match=what) as caught:
        registry.add("q", [entry(CachePolicyOffer, "innocent"), second])
    assert "'p' and 'q'" in str(caught.value)
    assert registry.of_plugin("q") == ()
    registry.add("r", [entry(CachePolicyOffer, "innocent")])  # the name was not kept


def test_a_plugin_may_not_offer_a_name_twice():
    with pytest.raises(DuplicatePluginError, match="plugin 'p' offers executor 'x' twice"):
        Registry().add("p", [entry(SchedulerOffer, "x"), entry(SchedulerOffer, "x")])


def test_a_tool_and_a_reasoning_parser_may_share_a_name():
    registry = Registry()
    registry.add("p", [entry(ToolParserOffer, "x"), entry(ReasoningParserOffer, "x")])
    with pytest.raises(DuplicatePluginError, match="tool-parser 'x' is offered by the plugins 'p' and 'q'"):
        registry.add("q", [entry(ToolParserOffer, "x")])


def test_sealed():
    registry = Registry()
    registry.seal()
    with pytest.raises(SealedRegistryError, match="'p' cannot add offers"):
        registry.add("p", [entry(SchedulerOffer, "x")])


def test_without():
    registry = Registry()
    registry.add("p", [entry(SchedulerOffer, "x")])
    registry.add("q", [entry(SchedulerOffer, "y")])
    registry.seal()
    rest = registry.without("p")
    assert [o.plugin for o in rest.offers(SchedulerOffer)] == ["q"]
    assert [o.plugin for o in registry.offers(SchedulerOffer)] == ["p", "q"]
    with pytest.raises(SealedRegistryError):
        rest.add("p", [])
