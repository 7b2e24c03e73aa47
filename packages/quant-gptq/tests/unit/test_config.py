from __future__ import annotations

import json

import pytest
import transformers

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gptq.config import Form, read_config

AUTOGPTQ = {
    "bits": 4,
    "group_size": 128,
    "damp_percent": 0.01,
    "desc_act": True,
    "static_groups": False,
    "sym": True,
    "true_sequential": True,
    "model_name_or_path": None,
    "model_file_base_name": "model",
}
GPTQMODEL = {
    "bits": 3,
    "group_size": -1,
    "desc_act": False,
    "lm_head": True,
    "method": "gptq",
    "quant_method": "gptq",
    "format": "gptq_v2",
    "checkpoint_format": "gptq_v2",
    "pack_dtype": "int32",
    "sym": False,
    "dynamic": {"-:.*k_proj": {}, ".*v_proj": {"bits": 8}},
    "meta": {"quantizer": ["gptqmodel:7.7.0"], "static_groups": True, "mse": 0.0},
}


def of_transformers(**values):
    return json.loads(json.dumps(transformers.GPTQConfig(**values).to_dict(), default=str))


def test_autogptq():
    found = read_config(AUTOGPTQ)
    assert found.form == Form(bits=4, group_size=128, desc_act=True, symmetric=True)
    assert (found.one_less, found.static_groups, found.head) == (True, False, False)
    assert found.of("model.layers.0.x") == found.form


def test_gptqmodel():
    found = read_config(GPTQMODEL)
    assert (found.one_less, found.static_groups, found.head) == (False, True, True)
    assert found.of("model.layers.0.k_proj") is None
    assert found.of("model.layers.0.v_proj") == Form(bits=8, group_size=-1)
    assert found.of("model.layers.0.q_proj") == Form(bits=3, group_size=-1)


def test_transformers():
    names = [["self_attn.q_proj"]]
    found = read_config(of_transformers(bits=8, group_size=32) | {"modules_in_block_to_quantize": names})
    assert found.form == Form(bits=8, group_size=32, symmetric=True)
    assert found.of("model.layers.0.self_attn.q_proj") == found.form
    assert found.of("model.layers.0.mlp.up_proj") is None


@pytest.mark.parametrize(
    "said, match",
    [
        ({"bits": 5}, "bits is 5; GPTQ is read with 2, 3, 4, 8"),
        ({"bits": 4.0}, r"bits is 4\.0"),
        ({"checkpoint_format": "marlin"}, "checkpoint_format is 'marlin'"),
        ({"format": "gptq_p"}, "checkpoint_format is 'gptq_p'"),
        ({"checkpoint_format": "gptq", "format": "gptq_v2"}, "differ, and mean the same"),
        ({"is_marlin_format": True}, "is_marlin_format is True"),
        ({"pack_dtype": "int16"}, "pack_dtype is 'int16'"),
        ({"rotation": "hadamard"}, "rotation is 'hadamard'"),
        ({"group_size": 0}, "group_size is 0"),
        ({"desc_act": "yes"}, "desc_act is 'yes'"),
        ({"sym": 1}, "sym is 1"),
        ({"quant_method": "awq"}, "quant_method is 'awq'"),
        ({"data_type": "nv_fp"}, "data_type is 'nv_fp'"),
        ({"new_field": 1}, "new_field is not known for GPTQ"),
    ],
)
def test_what_is_refused(said, match):
    with pytest.raises(UnsupportedModelError, match=match):
        read_config(said)
