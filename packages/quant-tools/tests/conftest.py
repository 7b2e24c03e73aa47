"""Tiny models of `transformers`, each made once a session, and a plugin of plain writers."""

from __future__ import annotations

import argparse
import logging
import os

import plain_writers
import pytest
import torch
import transformers
from quantize_models import SHAPE, TEXT, make

from kernelet.cli.plugin_command import Context, PluginCommand
from kernelet_quant_tools.command import Quantize


@pytest.fixture(autouse=True)
def few_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in list(os.environ):
        if name.startswith("KERNELET_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("KERNELET_CPU_ISA", "torch")
    log = logging.getLogger("kernelet")
    before = (log.handlers[:], log.propagate, log.level)
    yield
    log.handlers[:], log.propagate, log.level = before


@pytest.fixture(scope="session")
def llama(tmp_path_factory):
    """Grouped heads; embedding and head are two weights."""
    config = transformers.LlamaConfig(**SHAPE, tie_word_embeddings=False)
    return make(tmp_path_factory.mktemp("llama"), config)


@pytest.fixture(scope="session")
def gemma(tmp_path_factory):
    """Norms that add one to their weight, two kinds of layer, a tied head; in several files."""
    config = transformers.Gemma2Config(
        **SHAPE | {"num_key_value_heads": 4}, sliding_window=16, query_pre_attn_scalar=32
    )
    return make(tmp_path_factory.mktemp("gemma"), config, max_shard_size="300KB")


@pytest.fixture(scope="session")
def qwen(tmp_path_factory):
    """Biases, and one key and value head a query head."""
    config = transformers.Qwen2Config(**SHAPE | {"num_key_value_heads": 4}, tie_word_embeddings=True)
    return make(tmp_path_factory.mktemp("qwen"), config)


@pytest.fixture(scope="session")
def mixtral(tmp_path_factory):
    """Experts."""
    config = transformers.MixtralConfig(**SHAPE, num_local_experts=2, num_experts_per_tok=1)
    return make(tmp_path_factory.mktemp("mixtral"), config)


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture
def parse():
    """The command's arguments, and what the command line gives it; the plain writers are there."""

    def parse(*arguments: object) -> tuple[argparse.Namespace, Context]:
        parser = argparse.ArgumentParser()
        PluginCommand(Quantize()).configure(parser)
        given = [*map(str, arguments), "--plugins", "plain_writers:plugin"]
        options = parser.parse_args(given)
        return options, Context(options)

    plain_writers.CalibratedWriter.seen = ()
    return parse
