"""An engine whose cache has 8 bits computes with keys and values as these bits say, and holds more tokens."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from kernelet import LLM, SamplingParams
from kernelet.contracts.attention import AttentionOffer
from kernelet.errors import ConfigError, SelectionError, WeightsError
from kernelet.hookspecs import hookimpl
from kernelet.testing.attention.kept import SlowKept
from kernelet.testing.tiny import write_checkpoint

PROMPTS = [{"prompt_token_ids": list(range(2, 2 + count))} for count in (3, 17, 40)]
PARAMS = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True, logprobs=0, prompt_logprobs=0)
SCALES = {
    "layers.0.attention.k_scale": 0.5,
    "layers.0.attention.v_scale": 0.02,
    "layers.1.attention.attn.k_scale": 0.3,
    "layers.1.attention.attn.v_scale": 0.007,
}


class Reference:
    """The kit's attention, which keeps what the definition of each form says."""

    name = "reference-attention"

    @hookimpl
    def kernelet_attention_backends(self):
        target = f"{SlowKept.__module__}:{SlowKept.__qualname__}"
        forms = ("e4m3fn:tensor", "int8:token_head")
        kinds = frozenset({"full", "sliding"})
        return (AttentionOffer(name="reference", target=target, kinds=kinds, cache_dtypes=forms),)


class AsItIs:
    """An attention that keeps no other dtype."""

    name = "plain-attention"

    @hookimpl
    def kernelet_attention_backends(self):
        target = "kernelet.testing.attention.reference:SlowAttention"
        return (AttentionOffer(name="as-it-is", target=target, kinds=frozenset({"full", "sliding"})),)


def engine(folder, **options):
    given = {"dtype": "float64", "num_blocks": 64, **options}
    plugins = ["kernelet.testing.tiny:plugin", Reference(), AsItIs()]
    return LLM(str(folder), plugins=plugins, set={"platform-cpu": {"threads": 1}}, **given)


def generate(llm):
    """Tokens, and the logprobs of prompts and outputs."""
    outputs = llm.generate(PROMPTS, PARAMS, use_tqdm=False)
    values = [
        entry.logprob
        for output in outputs
        for position in (*filter(None, output.prompt_logprobs), *output.outputs[0].logprobs)
        for entry in position.values()
    ]
    return [output.outputs[0].token_ids for output in outputs], np.array(values)


def run(folder, **options):
    with engine(folder, **options) as llm:
        return generate(llm)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("plain") / "model")


@pytest.fixture(scope="module")
def scaled(tmp_path_factory):
    folder = write_checkpoint(tmp_path_factory.mktemp("scaled") / "model")
    tensors = load_file(folder / "model.safetensors")
    more = {name: np.array([value], dtype=np.float32) for name, value in SCALES.items()}
    save_file(tensors | more, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module")
def plain(checkpoint):
    return run(checkpoint, attention_backend="torch-paged")


@pytest.mark.parametrize("backend", ["native-paged", "torch-paged"])
@pytest.mark.parametrize("dtype", ["fp8", "int8"])
def test_it_computes_with_what_is_kept(scaled, plain, dtype, backend):
    tokens, values = run(scaled, kv_cache_dtype=dtype, attention_backend=backend)
    wanted, expected = run(scaled, kv_cache_dtype=dtype, attention_backend="reference")
    assert tokens == wanted
    assert np.abs(values - expected).max() < 1e-9
    assert 1e-4 < np.abs(values - plain[1]).max() < 1


def test_scales_of_the_checkpoint_are_used(checkpoint, scaled, plain, caplog):
    with caplog.at_level(logging.WARNING):
        with_scales, without = (run(folder, kv_cache_dtype="fp8") for folder in (scaled, checkpoint))
        assert "KV cache" not in caplog.text
        assert not np.array_equal(with_scales[1], without[1])
        unused = run(scaled, attention_backend="torch-paged")
    assert unused[0] == plain[0]
    assert np.array_equal(unused[1], plain[1])
    assert "without --kv-cache-dtype nothing uses scales of a KV cache" in caplog.text


def test_a_scale_that_is_none(scaled, tmp_path):
    folder = write_checkpoint(tmp_path / "model")
    tensors = load_file(scaled / "model.safetensors")
    name = "layers.1.attention.attn.v_scale"
    save_file(tensors | {name: np.zeros(1, dtype=np.float32)}, folder / "model.safetensors")
    with pytest.raises(WeightsError, match=r"layers\.1\.attention: 0\.0 cannot be the scale of a KV cache"):
        run(folder, kv_cache_dtype="fp8")


def test_the_pool_holds_more_tokens(checkpoint):
    blocks = {}
    for dtype in ("auto", "fp8", "int8"):
        options = {"dtype": "bfloat16", "num_blocks": None, "kv_cache_memory_bytes": 1 << 21}
        with engine(checkpoint, kv_cache_dtype=dtype, **options) as llm:
            (group,) = llm.plan.cache.groups
            blocks[dtype] = group.num_blocks
            assert group.num_blocks * group.bytes_per_block <= 1 << 21
            details = [layer.detail for layer in llm.plan.layers if layer.role == "attention"]
    assert blocks["fp8"] == 2 * blocks["auto"]
    head = group.spec.head_size
    assert blocks["int8"] == int(blocks["auto"] * 2 * head / (head + 4))
    assert details == ["full, int8:token_head"] * 2


def test_what_cannot_be_is_told_before_anything_is_loaded(tmp_path):
    folder = write_checkpoint(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    with pytest.raises(SelectionError, match=r"No KV cache dtype is named 'fp4'.*fp8 \(quant-kvcache\), int8"):
        run(folder, kv_cache_dtype="fp4")


def test_attention_that_cannot_read_it(checkpoint):
    match = r"'as-it-is' was named.*keeps keys and values in float64, not as int8:token_head"
    with pytest.raises(SelectionError, match=match):
        run(checkpoint, kv_cache_dtype="int8", attention_backend="as-it-is")


def test_a_platform_that_keeps_no_other_dtype_says_so(tmp_path):
    from kernelet.testing.null import NullPlugin, write_model

    with pytest.raises(ConfigError, match="--kv-cache-dtype fp8: the platform 'null' keeps keys and values as auto"):
        LLM(str(write_model(tmp_path / "null")), plugins=[NullPlugin()], platform="null", kv_cache_dtype="fp8")
