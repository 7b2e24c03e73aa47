"""An encrypted copy of a folder holds all of the model and none of its plain weights."""

from __future__ import annotations

import argparse
import json

import pytest
import torch
from acme_weights_encrypted import command
from acme_weights_encrypted.key import read_key
from acme_weights_encrypted.reader import EncryptedReader
from safetensors.torch import save_file

from kernelet.errors import ConfigError, ModelNotFoundError, WeightsError

TENSORS = {"a": torch.randn(50, 8), "b": torch.randn(4).to(torch.bfloat16), "c": torch.tensor(3)}


def run(*arguments):
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args([str(argument) for argument in arguments]))


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "plain"
    (folder / "additional_chat_templates").mkdir(parents=True)
    (folder / "config.json").write_text('{"architectures": ["X"]}')
    (folder / "tokenizer.json").write_text("{}")
    (folder / "additional_chat_templates/rag.jinja").write_text("x")
    save_file({"a": TENSORS["a"]}, folder / "model-1.safetensors")
    save_file({"b": TENSORS["b"], "c": TENSORS["c"]}, folder / "model-2.safetensors")
    index = {name: f"model-{1 if name == 'a' else 2}.safetensors" for name in TENSORS}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    (folder / "pytorch_model.bin").write_bytes(TENSORS["a"].numpy().tobytes())
    return folder


@pytest.fixture
def key_file(tmp_path):
    assert run("key", tmp_path / "model.key") == 0
    return tmp_path / "model.key"


def test_a_copy_of_a_model(source, key_file, tmp_path, capsys):
    target = tmp_path / "below/secret"
    assert run("model", source, target, "--key-file", key_file) == 0
    assert capsys.readouterr().out == f"{target}: 2 encrypted files\n"
    found = sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file())
    assert found == [
        "additional_chat_templates/rag.jinja",
        "config.json",
        "model-1.encrypted",
        "model-2.encrypted",
        "tokenizer.json",
    ]
    reader = EncryptedReader(target, read_key(key_file))
    assert reader.names() == ["a", "b", "c"]
    for name, tensor in TENSORS.items():
        assert torch.equal(reader.read(name), tensor)
        assert reader.read(name).dtype == tensor.dtype


def test_all_or_nothing(source, key_file, tmp_path):
    (source / "model-2.safetensors").write_bytes(b"no")
    with pytest.raises(WeightsError, match=r"model-2\.safetensors is damaged"):
        run("model", source, tmp_path / "secret", "--key-file", key_file)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.key", "plain"]


def test_what_cannot_be_encrypted(source, key_file, tmp_path):
    with pytest.raises(ConfigError, match="plain exists: name a folder that does not"):
        run("model", source, source, "--key-file", key_file)
    with pytest.raises(ModelNotFoundError, match=r"has no config\.json and \*\.safetensors"):
        run("model", tmp_path, tmp_path / "secret", "--key-file", key_file)
    with pytest.raises(ConfigError, match="cannot be read"):
        run("model", source, tmp_path / "secret", "--key-file", tmp_path / "none")
    assert not (tmp_path / "secret").exists()
