from __future__ import annotations

import dataclasses
import json
import struct

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Capabilities, PlatformConfig
from kernelet.contracts.pooling import PoolingParams
from kernelet.engine.input_processor import InputProcessor
from kernelet.engine.pooling import OwnedPooling, PoolingProcessor
from kernelet.errors import EngineDeadError, ParameterError, PromptError, RequestError, RequestFailedError
from kernelet.request.outputs import EngineOutput
from kernelet.testing.null.harness import null_engine_config
from kernelet.text.tokenizer import Tokenizer

VECTOR = struct.pack("4f", 3.0, 4.0, 12.0, 84.0)  # 3, 4, 12 and 84: lengths 5, 13 and 85


class Platform(PlatformConfig):
    def capabilities(self):
        return Capabilities(device_type="d", dtypes=("float32",), memory_bytes=1)

    def validate_request(self, prompt_len, params):
        if prompt_len == 13:
            raise RequestError(f"13 is unlucky, and {params.max_tokens} tokens too")


def make(folder, path=""):
    model = dataclasses.replace(null_engine_config(max_model_len=32).model, path=str(path))
    inputs = InputProcessor(Tokenizer.from_folder(folder), model, Platform(Settings(plugin="p")), {})
    return PoolingProcessor(inputs, model)


@pytest.fixture
def processor(null_folder, tmp_path):
    return make(null_folder, tmp_path)


def test_a_prompt_becomes_a_request_that_generates_nothing(processor):
    prompt = {"prompt": "hello", "cache_salt": "s"}
    found = processor.prepare(prompt, PoolingParams(pooling="mean"), request_id="r", priority=3)
    request = found.request
    assert (request.pooling, request.max_tokens, request.prompt_token_ids) == ("mean", 0, list(b"hello"))
    assert (request.request_id, request.priority, request.cache_salt) == ("r", 3, "s")
    assert found.params == PoolingParams(pooling="mean", normalize=True, task="embed")


@pytest.mark.parametrize(
    "params, expected",
    [
        (None, ("last", True)),
        ({"task": "plugin"}, ("last", False)),
        ({"task": "plugin", "normalize": True}, ("last", True)),
        ({"normalize": False}, ("last", False)),
    ],
)
def test_what_nobody_says(processor, params, expected):
    found = processor.resolve(None if params is None else PoolingParams(**params))
    assert (found.pooling, found.normalize) == expected


def test_the_checkpoints_own_comes_before_defaults_and_after_the_user(null_folder, tmp_path):
    modules = [{"type": "x.Transformer", "path": ""}, {"type": "x.Pooling", "path": "p"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    processor = make(null_folder, tmp_path)
    found = processor.resolve(None)
    assert (found.pooling, found.normalize) == ("mean", False)
    found = processor.resolve(PoolingParams(pooling="last", normalize=True))
    assert (found.pooling, found.normalize) == ("last", True)


def test_a_checkpoint_whose_own_is_not_served_must_be_told(null_folder, tmp_path):
    (tmp_path / "modules.json").write_text('[{"type": "x.Transformer"}, {"type": "x.Dense"}]')
    processor = make(null_folder, tmp_path)
    with pytest.raises(ParameterError, match=r"^pooling: .*pass through Dense.*name last or mean"):
        processor.resolve(None)
    assert processor.resolve(PoolingParams(pooling="mean")).pooling == "mean"


@pytest.mark.parametrize(
    "prompt, params, error, says",
    [
        ("", {}, PromptError, "empty"),
        ([], {}, PromptError, "empty"),
        ([1] * 33, {}, PromptError, "33 tokens, the context holds 32"),
        ([1] * 13, {}, RequestError, "13 is unlucky, and 0 tokens too"),
        ([260], {}, PromptError, "outside the vocabulary"),
        ("x", {"dimensions": 5}, ParameterError, "from 1 to 4"),
    ],
)
def test_what_is_wrong_is_said_before_it_runs(processor, prompt, params, error, says):
    with pytest.raises(error, match=says):
        processor.prepare(prompt, PoolingParams(**params), request_id="r")


def test_a_prompt_may_fill_the_context(processor):
    assert len(processor.prepare([1] * 32, None, request_id="r").request.prompt_token_ids) == 32


class Client:
    """Notes what it is told."""

    def __init__(self):
        self.added, self.aborted = [], []

    def add(self, requests, sink):
        self.added += [request.request_id for request in requests]

    def abort(self, request_ids):
        self.aborted += request_ids


def own(processor, *names, **params):
    client = Client()
    prompts = [processor.prepare("ab", PoolingParams(**params), request_id=name) for name in names]
    return client, OwnedPooling(client, prompts, print)


def done(name, **fields):
    values = {"finish_reason": "stop", "pooled": VECTOR, **fields}
    return EngineOutput(request_id=name, token_ids=[], **values)


def test_vectors_come_in_any_order_and_are_given_in_that_of_the_prompts(processor):
    client, owned = own(processor, "a", "b", dimensions=3)
    with owned:
        assert client.added == ["a", "b"]
        owned.take([done("b", num_cached_tokens=1)])
        assert (owned.finished, owned.num_finished) == (False, 1)
        owned.take([done("a")])
    assert client.aborted == []
    results = owned.results()
    assert [one.request_id for one in results] == ["a", "b"]
    assert [one.num_cached_tokens for one in results] == [0, 1]
    assert results[0].outputs.embedding == pytest.approx([3 / 13, 4 / 13, 12 / 13])
    assert results[0].prompt_token_ids == list(b"ab")


def test_what_fails_does_not_take_the_others_with_it(processor):
    client, owned = own(processor, "a", "b", "c")
    with owned:
        owned.take([done("a"), done("b", finish_reason="error", error="out of luck", pooled=None)])
        owned.take([done("c", finish_reason="abort", pooled=None)])
    assert owned.errors == [None, "out of luck", "the prompt was ended: abort"]
    with pytest.raises(RequestFailedError, match=r"prompts\[1\]: out of luck") as raised:
        owned.results()
    assert [one and one.request_id for one in raised.value.outputs] == ["a", None, None]
    assert client.aborted == []


def test_leaving_early_aborts_what_runs(processor):
    client, owned = own(processor, "a", "b")
    with owned:
        owned.take([done("a")])
    assert client.aborted == ["b"]


def test_a_dead_engine(processor):
    client, owned = own(processor, "a")
    with pytest.raises(EngineDeadError, match="gone"), owned:
        owned.take(EngineDeadError("gone"))
    assert client.aborted == ["a"]
