from __future__ import annotations

import numpy as np
import pytest
from gguf_files import LLAMA, write_gguf

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.architectures import SERVED
from kernelet_quant_gguf.file import GGUFFile
from kernelet_quant_gguf.ropes import rope_of


@pytest.fixture
def rope(tmp_path):
    def made(tensors=None, name="LlamaForCausalLM", size=8, **fields):
        architecture = SERVED[name]
        said = LLAMA | {f"rope.{key.replace('__', '.')}": value for key, value in fields.items()}
        path = write_gguf(tmp_path / "m.gguf", tensors or {}, said, tokens=False, architecture=architecture.gguf)
        return rope_of(architecture, GGUFFile.read(path), size)

    return made


def test_no_scaling(rope):
    assert rope() == {"rope_theta": 10000.0}
    assert rope(freq_base=500.0, scaling__type="none", scaling__factor=4.0) == {"rope_theta": 500.0}
    assert rope(scaling__type="linear", scaling__factor=1.0) == {"rope_theta": 10000.0}


def test_linear_and_yarn(rope):
    linear = {"rope_type": "linear", "factor": 4.0}
    assert rope(scaling__type="linear", scaling__factor=4.0)["rope_scaling"] == linear
    assert rope(scale_linear=4.0)["rope_scaling"] == linear
    given = {"scaling__type": "yarn", "scaling__factor": 4.0, "scaling__original_context_length": 16}
    found = rope(**given, scaling__yarn_beta_fast=8.0)["rope_scaling"]
    assert found == {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 16,
        "beta_fast": 8.0,
    }


def test_a_factor_a_wavelength(rope):
    factors = np.array([1.0, 2.0, 4.0, 8.0], dtype=np.float32)
    found = rope({"rope_freqs.weight": factors})["rope_scaling"]
    assert found["long_factor"] == found["short_factor"] == list(factors)
    assert (found["rope_type"], found["attention_factor"]) == ("longrope", 1.0)
    with pytest.raises(UnsupportedModelError, match=r"rope_freqs\.weight is F32 \[4\], expected F32 \[8\]"):
        rope({"rope_freqs.weight": factors}, size=16)


def test_long_and_short_factors(rope):
    names = "rope_factors_long.weight", "rope_factors_short.weight"
    factors = {name: np.arange(1, 5, dtype=np.float32) * (index + 1) for index, name in enumerate(names)}
    found = rope(factors, "Phi3ForCausalLM", scaling__original_context_length=16, scaling__attn_factor=1.25)
    assert found["original_max_position_embeddings"] == 16
    assert found["rope_scaling"] == {
        "rope_type": "longrope",
        "original_max_position_embeddings": 16,
        "attention_factor": 1.25,
        "long_factor": [1.0, 2.0, 3.0, 4.0],
        "short_factor": [2.0, 4.0, 6.0, 8.0],
    }
    with pytest.raises(UnsupportedModelError, match=r"rope_factors_short\.weight is not there"):
        rope({names[0]: factors[names[0]]}, "Phi3ForCausalLM")


def test_another_base_of_layers_with_a_window(rope):
    assert rope(name="Gemma3ForCausalLM", freq_base=1e6)["rope_local_base_freq"] == 10000.0
    assert rope(name="Gemma3ForCausalLM", freq_base_swa=500.0)["rope_local_base_freq"] == 500.0


def test_another_scaling_is_named(rope):
    with pytest.raises(UnsupportedModelError, match="'longrope' is not served"):
        rope(scaling__type="longrope", scaling__factor=2.0)
