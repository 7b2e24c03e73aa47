from __future__ import annotations

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from kernelet.errors import ModelNotFoundError
from kernelet_model_smollm2.checkpoint import config, convert


@pytest.fixture(scope="module")
def folder(gguf_file, tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint")
    convert(gguf_file, path)
    return path


def test_files(folder):
    names = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert {path.name for path in folder.iterdir()} == names


def test_weights_are_those_that_went_into_the_file(folder, tensors):
    """float32 tensors come back as their own rounding to bfloat16; quantized ones are as near as Q8_0 is."""
    stored = load_file(folder / "model.safetensors")
    assert stored.keys() == tensors.keys()
    for name, values in tensors.items():
        if ".mlp." in name:
            # half a step of a block of 32 in Q8_0, and half a step of bfloat16
            blocks = np.abs(values).reshape(len(values), -1, 32).max(axis=-1, keepdims=True)
            bound = np.broadcast_to(blocks / 127 * 0.51, (*blocks.shape[:2], 32)).reshape(values.shape)
            assert (np.abs(stored[name].float().numpy() - values) <= bound + np.abs(values) * 2**-8).all()
        else:
            assert torch.equal(stored[name], torch.from_numpy(values).bfloat16()), name


def test_weights_are_those_that_transformers_reads(folder, gguf_file):
    shape = LlamaConfig.from_pretrained(folder)
    with torch.device("meta"):
        model = LlamaForCausalLM(shape)
    theirs = load_gguf_checkpoint(str(gguf_file), return_tensors=True, model_to_load=model)["tensors"]
    ours = load_file(folder / "model.safetensors")
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        assert torch.equal(ours[name], tensor.bfloat16()), name


def test_transformers_loads_the_folder(folder):
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert isinstance(model, LlamaForCausalLM)
    assert model.dtype == torch.bfloat16
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    tokenizer = AutoTokenizer.from_pretrained(folder)
    chat = tokenizer.apply_chat_template([{"role": "user", "content": "hello 12"}], tokenize=False)
    assert chat == "<|im_start|>user\nhello 12<|im_end|>\n"
    tokens = tokenizer.convert_ids_to_tokens(tokenizer(chat)["input_ids"])
    assert tokens[0] == "<|im_start|>"
    assert tokens[-6:] == ["hello", "Ġ", "1", "2", "<|im_end|>", "Ċ"]


def test_config(fields):
    made = config(fields)
    assert made["architectures"] == ["LlamaForCausalLM"]
    assert (made["hidden_size"], made["head_dim"], made["num_key_value_heads"]) == (64, 16, 2)
    assert made["rms_norm_eps"] == 1e-5
    assert made["rope_theta"] == 10000.0
    assert (made["bos_token_id"], made["eos_token_id"], made["pad_token_id"]) == (1, 2, 2)


def test_another_architecture_is_refused(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "x.gguf", "gpt2")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(ModelNotFoundError, match="gpt2"):
        convert(tmp_path / "x.gguf", tmp_path)
