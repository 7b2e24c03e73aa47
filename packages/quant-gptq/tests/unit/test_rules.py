from __future__ import annotations

import pytest

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gptq.config import read_changes
from kernelet_quant_gptq.rules import Block, Rules

NAME = "model.layers.1.mlp.gate_up_proj"


@pytest.mark.parametrize(
    "said, expected",
    [
        (None, {}),
        ({}, {}),
        ({r"-:.*\.gate_up_proj": {}}, None),
        ({r"gate_up_proj": {"bits": 8}}, {}),
        ({r".*gate_up": {"bits": 8}}, {"bits": 8}),
        ({r"+:.*gate_up": {"group_size": -1, "desc_act": True}}, {"group_size": -1, "desc_act": True}),
        ({r"-:^model\.layers\.1\.mlp\.gate$": {}}, {}),
        ({r"-:model\.layers\.1\.": {}}, None),
        ({r"-:model\.layers\.10\.": {}}, {}),
        ({r"+:.*mlp": {"sym": False}, r"-:.*mlp": {}}, {"symmetric": False}),
        ({r"-:.*mlp": {}, r"+:.*mlp": {"sym": False}}, None),
        ({r".*mlp": {"damp_percent": 0.1}}, {}),
    ],
)
def test_the_first_rule_that_a_name_begins_with_decides(said, expected):
    assert Rules(said, read_changes).of(NAME) == expected


def test_rules_that_match_nothing_are_known():
    rules = Rules({"-:.*visual": {}, ".*mlp": {"bits": 8}, ".*gate": {"bits": 4}}, read_changes)
    rules.of(NAME)
    assert rules.unused() == ("-:.*visual",)


@pytest.mark.parametrize(
    "said, match",
    [
        ([], "dynamic is"),
        ({"(": {}}, r"dynamic: '\(' is no regular expression"),
        ({".*": {"bits": 5}}, r"dynamic\['\.\*'\]\.bits is 5"),
        ({".*": {"adapter": 5}}, r"dynamic\['\.\*'\]\.adapter is not known"),
        ({".*": 4}, r"dynamic\['\.\*'\] is 4, expected an object"),
    ],
)
def test_what_is_no_rule(said, match):
    with pytest.raises(UnsupportedModelError, match=match):
        Rules(said, read_changes)


@pytest.mark.parametrize(
    "block, modules, expected",
    [
        (None, None, True),
        ("model.layers", None, True),
        ("visual.blocks, model.layers", None, True),
        ("visual.blocks", None, False),
        (None, ["mlp.gate_up_proj"], True),
        (None, [["self_attn.q_proj"], ["mlp.gate_up_proj"]], True),
        (None, ["up_proj"], False),
        (None, [["mlp.gate"]], False),
    ],
)
def test_what_is_in_a_block(block, modules, expected):
    assert Block(block, modules).holds(NAME) is expected


def test_lists_that_are_none():
    with pytest.raises(UnsupportedModelError, match="modules_in_block_to_quantize is 'mlp'"):
        Block(None, "mlp")
    with pytest.raises(UnsupportedModelError, match="block_name_to_quantize is 5"):
        Block(5, None)
