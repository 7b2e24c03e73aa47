from __future__ import annotations

import json

import pytest

from kernelet.contracts.cache import FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.model import ModelInfo
from kernelet.errors import UnsupportedModelError
from kernelet.testing.null.model import cache_specs, describe, null_config, write_model
from kernelet.text.tokenizer import Tokenizer


def test_describe():
    assert describe(null_config(vocab_size=77, max_model_len=99)) == ModelInfo(
        vocab_size=77, max_model_len=99, num_layers=1, hidden_size=4, dtype="float32", row="null"
    )


@pytest.mark.parametrize(
    "types, window, text",
    [(("linear",), None, "no linear"), (("sliding_attention",), None, "sliding_window: must be set")],
)
def test_unsupported(types, window, text):
    with pytest.raises(UnsupportedModelError, match=text):
        describe(null_config(layer_types=types, window=window))


def test_cache_specs():
    specs = cache_specs(null_config(layer_types=("full_attention", "sliding_attention"), window=9), 16)
    assert type(specs["layers.0"]) is FullAttentionSpec
    assert specs["layers.1"] == SlidingWindowSpec(
        block_size=16, page_bytes=256, num_kv_heads=1, head_size=1, dtype="float64", window=9
    )


def test_model_folder(tmp_path):
    folder = write_model(tmp_path / "model")
    assert json.loads((folder / "config.json").read_text()) == null_config()
    tokenizer = Tokenizer.from_folder(folder)
    text = "Grüße, 世界 \n\x00 end"
    assert tokenizer.encode(text) == list(text.encode())
    assert tokenizer.encode("a</s>") == [97, 257]
    assert len(tokenizer) == null_config()["vocab_size"]
    assert tokenizer.eos_token_ids == {257}
