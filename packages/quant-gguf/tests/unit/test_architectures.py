from __future__ import annotations

import gguf
import pytest
from gguf import MODEL_ARCH, MODEL_ARCH_NAMES, get_tensor_name_map

from kernelet_quant_gguf.architectures import ARCHITECTURES
from kernelet_quant_gguf.keys import _NEUTRAL, _OFF

KINDS = {name: kind for kind, name in MODEL_ARCH_NAMES.items()}
OTHERWISE = {
    # the format's own map calls several of one tensor, or has the experts as one
    ("phi3", "ffn_up"),
    ("glm4", "ffn_up"),
}


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda one: one.hf)
def test_tensors_have_the_names_that_the_formats_package_gives_them(architecture):
    names = get_tensor_name_map(KINDS[architecture.gguf], 2)
    for module, ours in architecture.outer.items():
        found = names.get_name(ours)
        assert found == module or (module == "output" and found is None)  # those that are always tied
    for module, ours in architecture.layer.items():
        found = names.get_name(f"{architecture.prefix.format(layer=1)}.{ours}")
        if (architecture.gguf, module) in OTHERWISE and found is None:
            continue
        assert found == f"blk.1.{module}", ours


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda one: one.hf)
def test_every_tensor_that_the_format_has_for_it_is_known(architecture):
    kinds = gguf.MODEL_TENSORS[KINDS[architecture.gguf]]
    known = {*architecture.outer, *architecture.layer, *architecture.experts}
    for kind in kinds:
        name = gguf.TENSOR_NAMES[kind].removeprefix("blk.{bid}.")
        if name in known or name.startswith(("rope_", "attn_rot_embd", "cls", "nextn")):
            continue
        # of other models that share the name, or fused where the file may have them apart; both are refused or split
        assert name.endswith(("_exps", "_exp.{xid}", "_inp", "_shexp", "_sub_norm", "_norm", "_qkv", "_res", "_b")) or (
            (architecture.gguf, name) in EXTRA
        ), name


EXTRA = {
    ("llama", "ffn_gate"),
    ("llama", "ffn_up"),
    ("llama", "ffn_down"),
    ("qwen3moe", "ffn_gate"),
    ("phi3", "attn_q"),
    ("phi3", "attn_k"),
    ("phi3", "attn_v"),
    ("phi3", "ffn_gate"),
    ("glm4", "ffn_gate"),
    ("cohere2", "output"),
}


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda one: one.hf)
def test_keys_are_the_formats(architecture):
    known = {
        value.replace("{arch}.", "")
        for group in vars(gguf.Keys).values()
        if isinstance(group, type)
        for value in vars(group).values()
        if isinstance(value, str)
    }
    assert set(architecture.keys) <= known
    assert {*_NEUTRAL, *_OFF} - {"attention.indexer.head_count"} <= known
    assert MODEL_ARCH_NAMES[MODEL_ARCH(KINDS[architecture.gguf])] == architecture.gguf
