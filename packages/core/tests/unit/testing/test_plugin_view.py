from __future__ import annotations

import pytest

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.op import DENSE, OpOffer, WeightKernelOffer
from kernelet.errors import PluginError, SelectionError
from kernelet.testing.attention.reference import SlowAttention
from kernelet.testing.plugin_view import FixedPlugins, ReferencePlugins

KERNEL = WeightKernelOffer(name="a", target="made", roles=("embedding",))
OTHER = WeightKernelOffer(name="b", target="json:dumps", roles=("linear", "embedding"))


def test_the_first_that_fits_is_selected_and_the_others_refused():
    view = FixedPlugins([KERNEL, OTHER], {"made": 3}, plugin="acme")
    choice = view.select_weight_kernel("embedding", DENSE, "float32", (2, 3))
    assert (choice.chosen.offer, choice.chosen.plugin) == (KERNEL, "acme")
    assert choice.refused == {"b": "comes later"}
    assert view.select_weight_kernel("linear", DENSE, "float32", (2, 3)).chosen.offer is OTHER
    assert view.select(WeightKernelOffer, "b").chosen.offer is OTHER
    assert [role for role, _, _ in view.asked] == ["embedding", "linear"]
    with pytest.raises(SelectionError, match="'acme' offers no weight kernel for dense grouped_linear"):
        view.select_weight_kernel("grouped_linear", DENSE, "float32", (2, 2, 3))
    with pytest.raises(SelectionError, match="offers no AttentionOffer"):
        view.select(AttentionOffer)


def test_targets_are_given_or_imported():
    import json

    view = FixedPlugins([KERNEL, OTHER], {"made": 3})
    first, second = view.offers(WeightKernelOffer)
    assert view.load(first) == 3
    assert view.load(second) is json.dumps
    assert view.load(first, "json:loads") is json.loads
    with pytest.raises(PluginError, match="'nothing' is no import string"):
        view.load(first, "nothing")
    assert view.settings("x").plugin == "x"


def test_references_and_ops_by_name():
    view = ReferencePlugins(ops={"add": max})
    (attention,) = view.offers(AttentionOffer)
    assert view.load(attention) is SlowAttention
    choice = view.select_op("add", "float32")
    assert isinstance(choice.chosen.offer, OpOffer)
    assert view.load(choice.chosen) is max
    assert view.select_op("rms_norm", "float32") is None
