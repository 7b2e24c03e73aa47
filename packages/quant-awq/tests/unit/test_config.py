from __future__ import annotations

import json

import pytest
import transformers

from kernelet.errors import UnsupportedModelError
from kernelet_quant_awq.config import AwqConfig, read_config

USUAL = AwqConfig(layout="gemm", group_size=128, zero_point=True, head=False, skipped=())


def of_transformers(**values):
    return json.loads(json.dumps(transformers.AwqConfig(**values).to_dict(), default=str))


@pytest.mark.parametrize(
    "said, wanted",
    [
        ({"zero_point": True, "q_group_size": 128, "w_bit": 4, "version": "GEMM"}, {}),
        ({"quant_method": "awq", "bits": 4, "group_size": 64, "modules_to_not_convert": None}, {"group_size": 64}),
        (
            {"group_size": -1, "modules_to_not_convert": ["gate", "visual"]},
            {"group_size": -1, "skipped": ("gate", "visual")},
        ),
        ({"version": "gemv", "group_size": 32}, {"layout": "gemv", "group_size": 32}),
        (
            {"checkpoint_format": "gemm", "format": "gemm", "sym": True, "lm_head": True},
            {"zero_point": False, "head": True},
        ),
        ({"zero_point": False}, {"zero_point": False}),
        ({"sym": False, "desc_act": False, "pack_dtype": "int32", "dynamic": {}, "meta": {"quantizer": "x"}}, {}),
        (of_transformers(), {}),
        (
            of_transformers(group_size=32, modules_to_not_convert=["lm_head"]),
            {"group_size": 32, "skipped": ("lm_head",)},
        ),
    ],
)
def test_what_checkpoints_say(said, wanted):
    expected = {name: getattr(USUAL, name) for name in AwqConfig.__dataclass_fields__} | wanted
    assert read_config({"quant_method": "awq", **said}) == AwqConfig(**expected)


@pytest.mark.parametrize(
    "said, match",
    [
        ({"bits": 3}, "bits is 3; AWQ is read with 4"),
        ({"bits": True}, "bits is True"),
        ({"bits": 4, "w_bit": 8}, "'bits': 4, 'w_bit': 8.* differ"),
        ({"version": "marlin"}, "version is 'marlin'; AWQ is read with 'gemm', 'gemv'"),
        ({"version": "gemv_fast"}, "version is 'gemv_fast'"),
        ({"backend": "llm-awq"}, "backend 'llm-awq' is another layout"),
        ({"group_size": 0}, "group_size is 0"),
        ({"group_size": "128"}, "group_size is '128'"),
        ({"desc_act": True}, "desc_act is True"),
        ({"dynamic": {"-:x": {}}}, "dynamic is .*read with"),
        ({"zero_point": "yes"}, "zero_point is 'yes'"),
        ({"modules_to_not_convert": "gate"}, "modules_to_not_convert is 'gate', expected a list"),
        ({"modules_to_not_convert": ["re:("]}, "no regular expression"),
        ({"rotation": "hadamard"}, "rotation is 'hadamard'"),
        ({"quant_method": "gptq"}, "quant_method is 'gptq'"),
        ({"new_field": 1}, "new_field is not known for AWQ"),
    ],
)
def test_what_is_refused(said, match):
    with pytest.raises(UnsupportedModelError, match=match):
        read_config(said)
