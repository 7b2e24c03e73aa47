"""A live server on the null platform, whose texts are known, and requests to it."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import contextmanager

import pytest
import tiny_models
from checked_load import checked_load, known_requests, until
from live_server import LiveServer

from kernelet.testing.null.model import null_config, write_model

CONTEXT = 4096
MODEL = "null"
PLUGINS = "core,server-openai,stats-prometheus,probe_plugin:plugin"
STEP = "--set", "probe_plugin:plugin.step_seconds=0.002"
LIMITS = "--max-num-seqs", 8, "--max-num-batched-tokens", 64


@pytest.fixture(scope="session")
def null_folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("null-model"), null_config(max_model_len=CONTEXT))


@pytest.fixture(scope="session")
def known():
    """Short requests of many lengths."""
    return known_requests(40, (3, 17, 60, 130), (2, 9, 25))


@pytest.fixture(scope="session")
def serve(null_folder, known):
    """Starts a server that has done some work, so that all that it keeps is there."""

    @contextmanager
    def start(*flags, plugins=PLUGINS, env=None):
        variables = {"KERNELET_PLUGINS": plugins, "KERNELET_PLATFORM": "null", **(env or {})}
        names = ("--served-model-name", MODEL, "--access-log", "off", *STEP, *LIMITS)
        with LiveServer(null_folder, *names, *flags, env=variables) as server:
            asyncio.run(warm_up(server, known))
            yield server

    return start


async def warm_up(server, known):
    async with checked_load(server.url, 20, known, MODEL) as load:
        await until(lambda: load.answered >= 60 or load.errors, "answers come")
    assert not load.errors
    assert not load.wrong


@pytest.fixture(scope="session")
def server(serve):
    with serve("--endpoint", "broken") as running:
        yield running


@pytest.fixture(scope="session")
def tiny_folder(null_folder, tmp_path_factory):
    """A random model that computes, with the null model's tokenizer."""
    import transformers

    folder = tmp_path_factory.mktemp("tiny-model")
    shape = tiny_models.SHAPE | {"vocab_size": 260, "max_position_embeddings": 1024, "bos_token_id": 256}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape | {"eos_token_id": 257}))
    tiny_models.spread(model)
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(null_folder / name, folder)
    return folder


@pytest.fixture
def all_plugins(monkeypatch):
    """For servers that others start: what is installed."""
    monkeypatch.delenv("KERNELET_PLUGINS", raising=False)
    monkeypatch.delenv("KERNELET_PLATFORM", raising=False)
