from __future__ import annotations

import inspect

import pytest

from kernelet.config import PluginsConfig
from kernelet.contracts import (
    attention,
    cache,
    executor,
    io,
    kv,
    model,
    op,
    parsing,
    platform,
    quant,
    sampling,
    serving,
    stats,
    structured,
)
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.kv import KVConnectorOffer
from kernelet.contracts.model import ModelSourceOffer
from kernelet.contracts.offer import Offer
from kernelet.contracts.parsing import ParserOffer, ReasoningParserOffer, ToolParserOffer
from kernelet.contracts.serving import EndpointOffer
from kernelet.contracts.versions import API_VERSIONS
from kernelet.kernel.kinds import KINDS, kind_of


def test_every_offer_class_of_the_contracts_has_a_row():
    modules = (
        *(attention, cache, executor, io, kv, model, op, parsing, platform),
        *(quant, sampling, serving, stats, structured),
    )
    classes = {c for m in modules for _, c in inspect.getmembers(m, inspect.isclass) if issubclass(c, Offer)}
    classes -= {Offer, ParserOffer}  # what others have in common
    assert {kind.offer for kind in KINDS} == classes
    assert len(KINDS) == len(classes)


def test_hooks_are_those_that_are_collected():
    from kernelet.kernel.host import PluginHost

    for kind in KINDS:
        code = kind.collect.__code__
        assert code.co_names == (kind.domain, kind.hook_name.removeprefix("kernelet_"))
        assert kind.hook_name in PluginHost().hooks
        assert kind.hook_name in kind.how_to_get
        assert f"kernelet-{kind.package}-NAME" in kind.how_to_get


def test_domains_have_a_contract_version():
    for kind in KINDS:
        assert kind.domain in API_VERSIONS
        assert kind.offer.__module__ == f"kernelet.contracts.{kind.domain}"


def test_labels_and_flags_are_unique():
    flags = [kind.flag for kind in KINDS if kind.flag]
    assert len(set(flags)) == len(flags)
    assert len({kind.label for kind in KINDS}) == len(KINDS)


def test_the_variable_follows_from_the_flag():
    kind = next(kind for kind in KINDS if kind.flag == "--attention-backend")
    assert kind.variable == "KERNELET_ATTENTION_BACKEND"
    assert kind.how_to_name == "--attention-backend NAME or KERNELET_ATTENTION_BACKEND=NAME"
    assert kind_of(ModelSourceOffer).how_to_name == ""


def test_opt_in_kinds():
    opt_in = {kind.label: kind for kind in KINDS if kind.opt_in}
    assert set(opt_in) == {"logits processor", "endpoint"}
    assert opt_in["endpoint"].named(PluginsConfig(endpoints=("b",))) == ("b",)
    assert opt_in["logits processor"].named(PluginsConfig(logits_processors=("a",))) == ("a",)


def test_claims():
    offer = ModelSourceOffer(name="s", target="a:B", models={"m1": "", "m2": ""})
    assert kind_of(ModelSourceOffer).claims(offer) == ("m1", "m2")
    connector = KVConnectorOffer(name="k", target="a:B", worker="a:C", aliases=("K", "k"))
    assert kind_of(KVConnectorOffer).claims(connector) == ("k", "K")
    assert kind_of(EndpointOffer).claims(EndpointOffer(name="e", target="a:B", prefix="/e")) == ("/e",)


def test_a_tool_parser_and_a_reasoning_parser_may_share_a_name():
    keys = [kind_of(kind).key(kind(name="x", target="a:b")) for kind in (ToolParserOffer, ReasoningParserOffer)]
    assert keys == ["tool-parser:x", "reasoning-parser:x"]
    assert kind_of(SchedulerOffer).key(SchedulerOffer(name="s", target="a:B")) == "executor:s"


def test_not_a_kind():
    with pytest.raises(KeyError, match="Offer is not a kind"):
        kind_of(Offer)


def test_several_of_them():
    plurals = {kind.plural for kind in KINDS}
    assert {"eviction policies", "scheduling policies", "ops", "platforms"} <= plurals
