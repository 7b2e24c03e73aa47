from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType

import pytest

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.model import ModelSourceOffer
from kernelet.errors import PluginError
from kernelet.kernel.digest import offer_digest


def test_offer_digests_do_not_depend_on_the_order_of_sets_and_mappings():
    kinds = ["full", "sliding", "cross", "tree"]
    first = AttentionOffer(name="a", target="m:A", kinds=frozenset(kinds))
    second = AttentionOffer(name="a", target="m:A", kinds=frozenset(reversed(kinds)))
    assert offer_digest(first) == offer_digest(second)
    models = {"a": "1", "b": "2"}
    swapped = MappingProxyType(dict(reversed(models.items())))
    assert offer_digest(ModelSourceOffer(name="s", target="m:S", models=models)) == offer_digest(
        ModelSourceOffer(name="s", target="m:S", models=swapped)
    )


@pytest.mark.parametrize("field, value", [("name", "b"), ("target", "m:B"), ("priority", 1), ("requires", ("op:x",))])
def test_offer_digests_see_every_field(field, value):
    offer = SchedulerOffer(name="a", target="m:A")
    assert offer_digest(offer) != offer_digest(replace(offer, **{field: value}))


def test_offers_are_plain_data():
    @dataclass(frozen=True, kw_only=True)
    class Odd(SchedulerOffer):
        thing: object = field(default_factory=object)

    with pytest.raises(PluginError, match="offers are plain data"):
        offer_digest(Odd(name="a", target="m:A"))
