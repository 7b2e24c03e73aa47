"""Ranks compute the text of one rank, and the same bits whatever the batch, the chunk and the prefix cache."""

from __future__ import annotations

from pathlib import Path

import pytest
import safetensors.torch
import tiny_models
import torch
from rank_models import NARROW, WIDE, check_same_bits, greedy, prompts, texts

from kernelet import LLM, SamplingParams


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.full(tmp_path_factory.mktemp("wide"), **WIDE)


@pytest.fixture(scope="module")
def of_two(engine, wide) -> LLM:
    return engine(wide, 2)


@pytest.fixture(scope="module")
def of_one(engine, wide) -> LLM:
    return engine(wide, 1)


def test_two_ranks_give_the_text_of_one(of_one, of_two):
    given = prompts(4)
    assert texts(of_two, given) == texts(of_one, given)
    sampled = SamplingParams(temperature=1.0, top_p=0.9, seed=5, max_tokens=16, detokenize=False, prompt_logprobs=2)
    one, two = (llm.generate(given, sampled, use_tqdm=False) for llm in (of_one, of_two))
    assert [output.outputs[0].token_ids for output in two] == [output.outputs[0].token_ids for output in one]
    for mine, theirs in zip(one, two, strict=True):
        for left, right in zip(mine.prompt_logprobs[1:], theirs.prompt_logprobs[1:], strict=True):
            assert {token: entry.logprob for token, entry in left.items()} == pytest.approx(
                {token: entry.logprob for token, entry in right.items()}, abs=1e-9
            )


@pytest.mark.long
def test_two_ranks_give_the_text_of_one_for_many(of_one, of_two):
    given = prompts(20)
    assert texts(of_two, given, greedy(64)) == texts(of_one, given, greedy(64))


def test_two_ranks_give_the_same_bits_whatever_the_batch(of_two):
    check_same_bits(of_two, prompts(4))


@pytest.mark.long
def test_four_ranks_on_two_key_and_value_heads(engine, narrow):
    one, four = engine(narrow, 1), engine(narrow, 4)
    given = prompts(5)
    assert texts(four, given) == texts(one, given)
    check_same_bits(four, given)
    shapes = {layer.name: layer.detail for layer in four.plan.layers if layer.role == "linear"}
    head = NARROW["head_dim"]
    assert f"[{2 * head + 2 * head}, 64]" in shapes["model.layers.0.self_attn.qkv_proj"]
    (group,) = four.plan.cache.groups
    assert group.spec.num_kv_heads == 1


@pytest.mark.long
def test_ranks_share_experts_and_a_head_of_its_own(engine, tmp_path_factory):
    folder = tiny_models.experts(tmp_path_factory.mktemp("experts"), **NARROW)
    one, two = engine(folder, 1), engine(folder, 2)
    given = prompts(4)
    assert texts(two, given) == texts(one, given)
    check_same_bits(two, given)


def rounded(folder: Path, target: Path, ranks: int) -> Path:
    """The model with its weights rounded to 8 bits, a scale a row of a rank's own part."""
    names = ("config.json", "tokenizer.json")
    for name in names:
        (target / name).write_bytes((folder / name).read_bytes())
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    for name, weight in tensors.items():
        if ".mlp." in name or (".self_attn." in name and weight.dim() == 2):
            is_row = name.endswith(("o_proj.weight", "down_proj.weight"))
            parts = weight.float().chunk(ranks, 1) if is_row else (weight.float(),)
            tensors[name] = torch.cat([nearest(part) for part in parts], 1).double()
    safetensors.torch.save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    return target


def nearest(weight: torch.Tensor) -> torch.Tensor:
    scales = weight.abs().amax(1, keepdim=True) / 127
    return (weight / scales).round() * scales.double()


def test_quantized_weights(engine, narrow, tmp_path):
    two = engine(narrow, 2, quantization="int8", set={"quant-online": {"head": "none", "activations": "none"}})
    truth = engine(rounded(narrow, tmp_path, 2), 1)
    given = prompts(4)
    assert texts(two, given) == texts(truth, given)
    assert texts(two, given) != texts(engine(narrow, 1), given)
    check_same_bits(two, given)
