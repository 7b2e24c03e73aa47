"""A model of every architecture, from its file: the logits of transformers on the weights that the file stands for."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch
import transformers
from gguf_checkpoints import FolderSource
from gguf_families import FAMILIES, make
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from kernelet.contracts.offer import Settings
from kernelet.loading.loader import load
from kernelet.testing.model import PagedRun
from kernelet.testing.tensors import make_context
from kernelet_models_decoder.decoder import DecoderModel
from kernelet_models_decoder.description import describe as describe_model
from kernelet_models_decoder.rows import ROWS
from kernelet_quant_gguf.architectures import ARCHITECTURES, SERVED
from kernelet_quant_gguf.method import GGUF
from kernelet_quant_gguf.quantizer import GGUFQuantizer
from kernelet_quant_gguf.reader import GGUFReader
from kernelet_quant_gguf.source import describe

SETTINGS = Settings(plugin="quant-gguf", values={"type": "Q8_0", "head": "Q8_0", "activations": "none"})
BY_TRANSFORMERS = ("llama-biased", "qwen2", "qwen3", "gemma2")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def write(folder, into):
    into.mkdir()
    GGUFQuantizer(SETTINGS).write(FolderSource(folder), into, lambda _: None)
    return into / "model.gguf"


def logits(path, ids):
    """Of the decoder, with what the file says and the reference kernels of the kit."""
    config = json.loads(json.dumps(describe([path])["config.json"]))
    stored = config.pop("quantization_config")
    assert set(stored["types"].values()) == {"Q8_0"}
    describe_model(config)
    context = make_context(config, architecture=config["architectures"][0], max_model_len=64, block_size=4)
    context = dataclasses.replace(context, quantization=GGUF(SETTINGS, stored, context.config))
    with torch.inference_mode():
        model = DecoderModel(context)
        load(model, GGUFReader(path.parent))
        run = PagedRun(model, 1, 64)
        return model.compute_logits(model.forward(run.inputs({0: ids})).states)


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_are_those_of_the_dequantized_checkpoint(tmp_path, name):
    ids, expected, _ = make(name, tmp_path / "hf")
    found = logits(write(tmp_path / "hf", tmp_path / "file"), ids)
    assert (found - expected).abs().max() < 1e-3
    assert expected.std() > 0.1


@pytest.mark.parametrize("name", BY_TRANSFORMERS)
def test_transformers_reads_the_same_from_the_file(tmp_path, name):
    ids, expected, _ = make(name, tmp_path / "hf")
    path = write(tmp_path / "hf", tmp_path / "file")
    model = getattr(transformers, FAMILIES[name][1])(transformers.AutoConfig.from_pretrained(tmp_path / "hf")).eval()
    read = load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=model)
    model.load_state_dict(read["tensors"], strict=not model.config.tie_word_embeddings)
    with torch.inference_mode():
        found = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
    assert (found - expected).abs().max() < 1e-3
    said = read["config"]
    ours = describe([path])["config.json"]
    for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "rope_theta", "rms_norm_eps", "vocab_size"):
        assert said[key] == pytest.approx(ours[key]), key


def test_every_row_of_the_decoders_is_served_and_tried():
    assert set(SERVED) == {row.architecture for row in ROWS}
    assert {model for _, model, _ in FAMILIES.values()} == set(SERVED)
    assert len(ARCHITECTURES) == len(SERVED)
