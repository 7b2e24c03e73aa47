from __future__ import annotations

import struct

import numpy as np
import pytest

from kernelet.contracts.io import IOProcessorOffer
from kernelet.contracts.pooling import PoolingParams
from kernelet.engine.llm import LLM
from kernelet.errors import ParameterError, PromptError, RequestFailedError
from kernelet.hookspecs import hookimpl
from kernelet.testing.io_processor import Distances
from kernelet.testing.null.plugin import NullPlugin
from kernelet.testing.null.tokens import digests, pooled


class FarPlugin:
    """Offers distances, and one that fails."""

    name = "acme-far"

    @hookimpl
    def kernelet_io_processors(self):
        return (IOProcessorOffer(name="far", target="kernelet.testing.io_processor:Distances"),)


def truth(prompt, pooling="last", normalize=True, dimensions=4):
    vector = np.array(struct.unpack("4f", pooled(digests(prompt), pooling)))[:dimensions]
    return vector / np.linalg.norm(vector) if normalize else vector


@pytest.fixture(scope="module")
def llm(null_folder):
    plugins = [NullPlugin(), FarPlugin()]
    with LLM(str(null_folder), plugins=plugins, platform="null", io_processor_plugin="far") as llm:
        yield llm


def test_prompts_are_embedded_in_their_order(llm):
    prompts = ["hello", [1, 2, 3], {"prompt": "x"}, {"prompt_token_ids": [9]}]
    outputs = llm.embed(prompts)
    expected = [list(b"hello"), [1, 2, 3], list(b"x"), [9]]
    assert [output.prompt_token_ids for output in outputs] == expected
    for output, ids in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(output.outputs.embedding, truth(ids), rtol=1e-6)
        assert output.finished
    assert len({output.request_id for output in outputs}) == 4


def test_parameters_for_all_or_one_each(llm):
    params = [PoolingParams(pooling="mean"), PoolingParams(normalize=False, dimensions=2)]
    mean, short = llm.embed(["abc", "abc"], params)
    np.testing.assert_allclose(mean.outputs.data, truth(b"abc", "mean"), rtol=1e-6)
    np.testing.assert_allclose(short.outputs.data, truth(b"abc", normalize=False, dimensions=2), rtol=1e-6)
    (raw,) = llm.encode("abc", PoolingParams(task="plugin"))
    np.testing.assert_allclose(raw.outputs.data, truth(b"abc", normalize=False), rtol=1e-6)
    with pytest.raises(ParameterError, match="got 1 for 2 prompts"):
        llm.embed(["a", "b"], [PoolingParams()])


def test_everything_is_checked_before_anything_runs(llm):
    before = llm.stats().num_steps
    for prompts, params, says in (
        (["a", ""], None, r"prompts\[1\]: the prompt is empty"),
        (["a", "b"], PoolingParams(dimensions=5), r"prompts\[0\]: dimensions: got 5"),
        ([[1] * 257], None, "257 tokens, the context holds 256"),
    ):
        with pytest.raises((PromptError, ParameterError), match=says):
            llm.embed(prompts, params)
    assert llm.stats().num_steps == before
    with pytest.raises(ParameterError, match="use encode"):
        llm.embed("a", PoolingParams(task="plugin"))


def test_data_goes_through_the_io_processor(llm):
    (answer,) = llm.encode({"data": {"texts": ["a", "b", "a"]}})
    vectors = [truth(text, normalize=False) for text in (b"a", b"b", b"a")]
    expected = [[float(np.linalg.norm(one - other)) for other in vectors] for one in vectors]
    np.testing.assert_allclose(answer.outputs["distances"], expected, rtol=1e-6)
    assert (answer.request_id, answer.prompt_token_ids) == ("", [])
    (answer,) = llm.encode({"data": {"texts": ["a", "b"]}}, PoolingParams(normalize=True), priority=1)
    gap = np.linalg.norm(truth(b"a") - truth(b"b"))
    np.testing.assert_allclose(answer.outputs["distances"][0], [0, gap], rtol=1e-6)


def test_data_that_is_wrong(llm):
    with pytest.raises(ParameterError, match=r"^texts: expected a list"):
        llm.encode({"data": {"texts": []}})
    with pytest.raises(PromptError, match="beside 'data'"):
        llm.encode({"data": {"texts": ["a"]}, "prompt": "a"})


def test_data_without_a_processor(null_folder, null_options):
    with LLM(str(null_folder), **null_options) as llm:
        assert Distances.__name__ not in str(llm.config.plugins)
        with pytest.raises(PromptError, match="--io-processor-plugin NAME"):
            llm.encode({"data": 1})


def test_a_request_that_fails_by_itself_has_the_others_results(llm, monkeypatch):
    def none_of_long_ones(held, end):
        return None if len(held.token_ids) > 2 else pooled(held.digests, held.data.pooling)

    monkeypatch.setattr("kernelet.testing.null.worker._pooled", none_of_long_ones)
    with pytest.raises(RequestFailedError, match=r"prompts\[1\]: the worker returned no pooled states") as raised:
        llm.embed(["a", "abc"])
    good, bad = raised.value.outputs
    np.testing.assert_allclose(good.outputs.data, truth(b"a"), rtol=1e-6)
    assert bad is None


def test_a_prefix_is_reused_for_the_last_state_and_not_for_a_mean(null_folder, null_options):
    with LLM(str(null_folder), **null_options, block_size=4) as llm:
        prompt = list(range(1, 18))
        llm.embed(prompt)
        (last,), (mean,) = llm.embed(prompt), llm.embed(prompt, PoolingParams(pooling="mean"))
    assert (last.num_cached_tokens, mean.num_cached_tokens) == (16, 0)
    np.testing.assert_allclose(last.outputs.data, truth(prompt), rtol=1e-6)
    np.testing.assert_allclose(mean.outputs.data, truth(prompt, "mean"), rtol=1e-6)
