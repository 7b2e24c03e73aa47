from __future__ import annotations

import gguf
import pytest
from gguf_files import LLAMA, write_gguf

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.config import hf_config
from kernelet_quant_gguf.file import GGUFFile
from kernelet_quant_gguf.names import architecture_of

OF_OTHERS = {
    "attention.decay_lora_rank",
    "attention.gate_lora_rank",
    "attention.group_norm_epsilon",
    "attention.iclr_lora_rank",
    "attention.indexer.key_length",
    "attention.indexer.top_k",
    "attention.key_length_mla",
    "attention.value_length_mla",
    "attention.value_residual_mix_lora_rank",
    "altup.active_idx",
    "experts_per_group",
    "features_length",
    "moe_latent_size",
    "time_decay_extra_dim",
    "time_mix_extra_dim",
}
"""Keys of other kinds of models: said, and not used."""


@pytest.fixture
def read(tmp_path):
    def read(**fields):
        file = GGUFFile.read(write_gguf(tmp_path / "m.gguf", None, LLAMA | fields, tokens=False), texts=False)
        return hf_config(architecture_of(file), file)

    return read


@pytest.mark.parametrize(
    "key, value",
    [
        ("swin_norm", True),
        ("attention.shared_kv_layers", 2),
        ("rope.scaling.yarn_ext_factor", 0.0),
        ("rope.scaling.alpha", 2.0),
        ("swiglu_clamp_exp", [0.0, 7.0]),
    ],
)
def test_what_would_change_the_computation_is_refused(read, key, value):
    with pytest.raises(UnsupportedModelError, match=rf"llama\.{key} = .* is not served for LlamaForCausalLM"):
        read(**{key: value})


@pytest.mark.parametrize(
    "key, value",
    [
        ("swin_norm", False),
        ("rope.scaling.yarn_ext_factor", 1.0),
        ("swiglu_clamp_exp", [0.0, 0.0]),
        ("rope.freq_base_swa", 500.0),
        ("attention.sliding_window_pattern", [True, False]),
        ("expert_used_count", 2),
        ("tensor_data_layout", "Meta AI original pth"),
        ("rope.scaling.finetuned", True),
    ],
)
def test_what_changes_nothing_is_taken_without_a_word(read, caplog, key, value):
    assert read(**{key: value}) == read()
    assert not caplog.records


def test_what_nobody_knows_is_said(read, caplog):
    assert read(new_scaling_of_logits=3.0) == read()
    assert "llama.new_scaling_of_logits is not known, and is not used" in caplog.text


def test_every_key_of_the_format_is_read_refused_or_known_to_say_nothing(read, caplog):
    groups = (gguf.Keys.LLM, gguf.Keys.Attention, gguf.Keys.Rope)
    names = {
        each
        for group in groups
        for each in vars(group).values()
        if isinstance(each, str) and each.startswith("{arch}.") and "{dense}" not in each
    }
    unknown = set()
    for name in sorted(each.removeprefix("{arch}.") for each in names):
        caplog.clear()
        try:
            read(**{name: 7})
        except (UnsupportedModelError, TypeError, ValueError, ZeroDivisionError):
            continue
        unknown |= {name} if caplog.records else set()
    assert unknown <= OF_OTHERS
