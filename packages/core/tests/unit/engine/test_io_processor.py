from __future__ import annotations

import asyncio
import dataclasses

import numpy as np
import pytest

from kernelet.config import PluginsConfig
from kernelet.contracts.io import IOProcessorOffer
from kernelet.contracts.offer import Settings
from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput
from kernelet.engine.io_processor import NamedIOProcessor, make_io_processor, wrap
from kernelet.errors import ConfigError, ParameterError, PluginError, PromptError, RequestFailedError, SelectionError
from kernelet.testing.io_processor import Distances
from kernelet.testing.io_processor.vectors import make_context, pooled
from kernelet.testing.null.harness import null_engine_config
from kernelet.testing.plugin_view import FixedPlugins

CONTEXT = make_context({}, 4)


def named(kind=Distances):
    return NamedIOProcessor("far", kind(Settings(plugin="p"), CONTEXT))


def test_from_data_to_an_answer():
    processor = named()
    data, params = processor.begin({"data": {"texts": ["a", "b"]}}, None)
    assert params == PoolingParams(task="plugin")
    prompts = processor.prompts(data)
    assert prompts == ["a", "b"]
    outputs = pooled(prompts, params, 4)
    gap = float(np.linalg.norm(outputs[0].outputs.data.astype(float) - outputs[1].outputs.data))
    answer = processor.answer(data, outputs)
    np.testing.assert_allclose(answer.outputs["distances"], [[0, gap], [gap, 0]])

    async def later():
        assert await processor.prompts_async(data) == prompts
        return await processor.answer_async(data, outputs)

    assert asyncio.run(later()).outputs == answer.outputs


def test_an_answer_has_the_shape_of_an_output():
    outputs = [
        PoolingRequestOutput(
            request_id="r", outputs=PoolingOutput(data=np.zeros(1)), prompt_token_ids=[1], num_cached_tokens=count
        )
        for count in (2, 3)
    ]
    found = wrap({"x": 1}, outputs)
    assert (found.outputs, found.prompt_token_ids, found.num_cached_tokens, found.finished) == ({"x": 1}, [], 5, True)


def test_what_users_do_wrong_is_theirs():
    processor = named()
    with pytest.raises(ParameterError, match=r"^texts: "):
        processor.begin({"data": {"texts": []}}, None)
    with pytest.raises(PromptError, match=r"'priority' \(str\) beside 'data'"):
        processor.begin({"data": {"texts": ["a"]}, "priority": 1}, None)
    with pytest.raises(ParameterError, match=r"^pooling_params: got \[\]"):
        processor.begin({"data": {"texts": ["a"]}}, [])


def raising(*arguments):
    raise KeyError("oh")


async def raising_later(*arguments):
    raise KeyError("oh")


@pytest.mark.parametrize("method", ["parse_data", "merge_pooling_params", "validate"])
def test_what_a_processor_does_wrong_fails_its_request(method, caplog):
    processor = named(type("Wrong", (Distances,), {method: raising}))
    with pytest.raises(RequestFailedError, match=f"IO processor 'far' failed in {method}: KeyError: 'oh'"):
        processor.begin({"data": {"texts": ["a"]}}, None)
    assert f"failed in {method}" in caplog.text


def test_later_stages_too():
    wrong = {"pre_process": raising, "pre_process_async": raising_later}
    wrong |= {"post_process": raising, "post_process_async": raising_later}
    processor = named(type("Wrong", (Distances,), wrong))
    with pytest.raises(RequestFailedError, match="in pre_process: KeyError"):
        processor.prompts([])
    with pytest.raises(RequestFailedError, match="in post_process: KeyError"):
        processor.answer([], [])
    with pytest.raises(RequestFailedError, match="in pre_process_async: KeyError"):
        asyncio.run(processor.prompts_async([]))
    with pytest.raises(RequestFailedError, match="in post_process_async: KeyError"):
        asyncio.run(processor.answer_async([], []))


@pytest.mark.parametrize("returned", ["a text", [], None, 3, {"prompt": "x"}])
def test_prompts_that_are_no_list(returned):
    processor = named(type("Wrong", (Distances,), {"pre_process": lambda self, data: returned}))
    with pytest.raises(RequestFailedError, match=r"in pre_process: it returned .* not a list of prompts"):
        processor.prompts([])


def test_parameters_that_are_none():
    processor = named(type("Wrong", (Distances,), {"merge_pooling_params": lambda self, params: None}))
    with pytest.raises(RequestFailedError, match="in merge_pooling_params: it returned None"):
        processor.begin({"data": {"texts": ["a"]}}, None)


# --- which one ------------------------------------------------------------------------------------


class NoProcessor:
    def __init__(self, settings, context):
        """Takes what a processor takes."""


class Refuses(Distances):
    def __init__(self, settings, context):
        raise ConfigError("not this model")


OFFERS = [IOProcessorOffer(name=name, target=name) for name in ("far", "refuses", "other")]
PLUGINS = FixedPlugins(OFFERS, {"far": Distances, "refuses": Refuses, "other": NoProcessor}, plugin="acme")


def select(named=None, said=None, tokenizer=None):
    config = null_engine_config()
    model = dataclasses.replace(config.model, hf_config={} if said is None else {"io_processor_plugin": said})
    config = dataclasses.replace(config, model=model, plugins=PluginsConfig(io_processor=named))
    return make_io_processor(config, PLUGINS, tokenizer)


def test_the_operators_word_comes_before_the_checkpoints():
    assert select() is None
    assert select(named="far").name == select(said="far").name == select(named="far", said="absent").name == "far"
    assert isinstance(select(named="far").processor, Distances)


def test_it_knows_model_and_tokenizer():
    class Tokenizer:
        def encode(self, text):
            return [len(text)]

    context = select(named="far", tokenizer=Tokenizer()).processor.context
    assert (context.model.model, context.encode("abc")) == ("null", [3])
    assert select(named="far").processor.context.encode is None


@pytest.mark.parametrize(
    "named, said, error, says",
    [
        ("absent", None, SelectionError, "IOProcessorOffer"),
        (None, "absent", SelectionError, "IOProcessorOffer"),
        (None, 3, ConfigError, r"io_processor_plugin = 3 \(int\), expected a name"),
        (None, "", ConfigError, "expected a name"),
        ("refuses", None, ConfigError, "not this model"),
        ("other", None, PluginError, "acme: other of offer 'other' is no IOProcessor"),
    ],
)
def test_what_stops_the_start(named, said, error, says):
    with pytest.raises(error, match=says):
        select(named, said)
