"""Random tiny GPT-2s, saved by `transformers`, against `transformers`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file

from kernelet import LLM, SamplingParams
from kernelet.errors import KerneletError, UnsupportedModelError, WeightsError

VOCAB = 97
OPTIONS = {"dtype": "float64", "max_num_batched_tokens": 16, "set": {"platform-cpu": {"threads": 1}}}
VARIANTS = {
    "plain": {},
    "untied": {"tie_word_embeddings": False, "n_inner": 40, "activation_function": "relu"},
    "by-layer": {"scale_attn_by_inverse_layer_idx": True, "scale_attn_weights": False, "activation_function": "gelu"},
}


def save(folder: Path, **values: object) -> transformers.GPT2LMHeadModel:
    shape = {"vocab_size": VOCAB, "n_positions": 64, "n_embd": 24, "n_layer": 2, "n_head": 3}
    ids = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 0}
    torch.manual_seed(5)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**shape | ids | values)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder)
    words = {f"w{index}": index for index in range(VOCAB)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w2"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    return model.double()


def prompts() -> list[list[int]]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randint(2, VOCAB, (length,), generator=generator).tolist() for length in (1, 7, 16, 33)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_and_greedy_text_are_those_of_transformers(tmp_path, variant):
    """Prompts are cut into steps of 16 tokens, and all requests run at once."""
    reference = save(tmp_path, **VARIANTS[variant])
    params = SamplingParams(temperature=0, max_tokens=24, ignore_eos=True, prompt_logprobs=-1, logprobs=-1)
    with LLM(str(tmp_path), **OPTIONS) as llm:
        outputs = llm.generate(prompts(), params)
        assert llm.stats().num_chunked > 0
    for output in outputs:
        (answer,) = output.outputs
        ids = [*output.prompt_token_ids, *answer.token_ids]
        with torch.no_grad():
            expected = reference(torch.tensor([ids])).logits[0].log_softmax(-1)
        rows = [*output.prompt_logprobs[1:], *answer.logprobs]
        got = torch.tensor([[row[token].logprob for token in range(VOCAB)] for row in rows], dtype=torch.float64)
        torch.testing.assert_close(got, expected[:-1], atol=1e-9, rtol=0)
        assert answer.token_ids == expected[len(output.prompt_token_ids) - 1 : -1].argmax(-1).tolist()


def test_a_first_checkpoint_has_no_prefix_and_holds_the_mask(tmp_path):
    save(tmp_path)
    params = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True)
    with LLM(str(tmp_path), **OPTIONS) as llm:
        expected = [output.outputs[0].token_ids for output in llm.generate(prompts(), params)]
    file = tmp_path / "model.safetensors"
    tensors = {name.removeprefix("transformer."): tensor for name, tensor in load_file(file).items()}
    tensors["h.0.attn.bias"] = torch.ones(1, 1, 64, 64).tril()
    save_file(tensors, file)
    with LLM(str(tmp_path), **OPTIONS) as llm:
        assert [output.outputs[0].token_ids for output in llm.generate(prompts(), params)] == expected


def change(name: str):
    def apply(tensors):
        if name == "missing":
            del tensors["transformer.h.1.ln_2.bias"]
        elif name == "strange":
            tensors["transformer.h.2.ln_2.bias"] = torch.zeros(24)
        elif name == "shape":
            tensors["transformer.wpe.weight"] = torch.zeros(63, 24)
        elif name == "integers":
            tensors["transformer.ln_f.bias"] = torch.zeros(24, dtype=torch.int32)
        else:
            tensors["ln_f.bias"] = torch.zeros(24)

    return apply


@pytest.mark.parametrize(
    "name, says",
    [
        ("missing", r"the checkpoint misses transformer\.h\.1\.ln_2\.bias"),
        ("strange", r"nothing takes transformer\.h\.2\.ln_2\.bias"),
        ("shape", r"transformer\.wpe\.weight is torch\.float32 \[63, 24\], expected floating-point \[64, 24\]"),
        ("integers", r"transformer\.ln_f\.bias is torch\.int32 \[24\]"),
        ("twice", r"ln_f\.bias is in the checkpoint twice"),
    ],
)
def test_a_checkpoint_that_does_not_fit(tmp_path, name, says):
    save(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    change(name)(tensors)
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(WeightsError, match=says):
        LLM(str(tmp_path), **OPTIONS)


@pytest.mark.parametrize(
    "values, says",
    [
        ({"n_head": 5}, r"n_embd = 24 cannot be divided over n_head = 5"),
        ({"n_layer": "two"}, r"n_layer = 'two': expected a positive whole number"),
        ({"add_cross_attention": True}, r"add_cross_attention"),
        ({"activation_function": "mish"}, r"activation_function = 'mish': served are gelu_new"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_configuration_that_is_not_served(tmp_path, values, says):
    save(tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    with pytest.raises(UnsupportedModelError, match=says):
        LLM(str(tmp_path), **OPTIONS)


def test_the_position_table_is_the_longest_context(tmp_path):
    save(tmp_path)
    with pytest.raises(KerneletError, match="65"):
        LLM(str(tmp_path), max_model_len=65, **OPTIONS)
