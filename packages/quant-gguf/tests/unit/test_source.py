from __future__ import annotations

import json
import os

import pytest
from gguf_files import SHAPES, tensors_of, values_of, write_gguf

from kernelet.contracts.offer import Settings
from kernelet.errors import ModelNotFoundError, UnsupportedModelError, WeightsError
from kernelet.text.tokenizer import Tokenizer
from kernelet_quant_gguf.reader import GGUFReader
from kernelet_quant_gguf.source import GGUFSource, describe, parts_of


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELET_CACHE_DIR", str(tmp_path / "cache"))
    return write_gguf(tmp_path / "small.Q4.gguf", tokenizer__chat_template="hi")


def resolve(path):
    return GGUFSource(Settings(plugin="quant-gguf")).resolve(str(path))


def test_a_folder_in_hugging_faces_form(path, tmp_path):
    folder = resolve(path)
    assert folder.is_relative_to(tmp_path / "cache" / "models" / "gguf")
    config = json.loads((folder / "config.json").read_text())
    assert (config["bos_token_id"], config["eos_token_id"]) == (1, [2])
    assert json.loads((folder / "generation_config.json").read_text()) == {"bos_token_id": 1, "eos_token_id": [2]}
    tokenizer = Tokenizer.from_folder(folder)
    assert tokenizer.encode("ab") == [1, 262, 261]  # <s>, a with the space before it, b
    assert min(GGUFReader(folder).names()) == "model.embed_tokens.weight"
    assert (folder / path.name).samefile(path)


def test_it_is_made_once_and_again_when_the_file_changes(path, monkeypatch):
    first = resolve(path)
    made = (first / "config.json").stat().st_mtime_ns
    monkeypatch.chdir(path.parent)
    assert resolve(path.name) == first
    assert (first / "config.json").stat().st_mtime_ns == made
    os.utime(path, ns=(1, 1))
    second = resolve(path)
    assert second != first
    assert not first.exists()
    assert (second / "tokenizer.json").is_file()


def test_a_folder_that_is_no_model_is_not_written_over(path):
    folder = resolve(path)
    (folder / "config.json").unlink()
    with pytest.raises(ModelNotFoundError, match="cannot be stored"):
        resolve(path)


def test_all_parts_of_a_model(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELET_CACHE_DIR", str(tmp_path / "cache"))
    tensors = list(tensors_of().items())
    first = write_gguf(tmp_path / "m-00001-of-00002.gguf", dict(tensors[:4]))
    with pytest.raises(ModelNotFoundError, match=r"of 2 files; missing are m-00002-of-00002\.gguf"):
        parts_of(first)
    second = write_gguf(tmp_path / "m-00002-of-00002.gguf", dict(tensors[4:]), {}, tokens=False)
    assert len(GGUFReader(resolve(second)).names()) == len(SHAPES)
    write_gguf(second, dict(tensors[3:]), {}, tokens=False)
    with pytest.raises(WeightsError, match=r"00002-of-00002\.gguf holds model\.layers\.0\.self_attn\.q_proj"):
        describe([first, second])


def test_a_file_whose_name_ends_in_capitals(path):
    loud = path.rename(path.with_suffix(".GGUF"))
    assert [each.name for each in resolve(loud).glob("*.gguf")] == ["small.Q4.gguf"]


def test_parts_whose_names_end_in_capitals(tmp_path):
    paths = [write_gguf(tmp_path / f"m-0000{number}-of-00002.GGUF", {}) for number in (1, 2)]
    assert parts_of(paths[1]) == paths


def test_a_damaged_file_leaves_nothing(path, tmp_path):
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(WeightsError, match="cut short: tensor"):
        resolve(path)
    assert not (tmp_path / "cache").exists()


def test_a_tokenizer_that_is_not_served_names_the_file(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", tokenizer__ggml__model="rwkv")
    with pytest.raises(UnsupportedModelError, match=r"m\.gguf: the file has a tokenizer of the kind 'rwkv'"):
        describe([path])
    path = write_gguf(tmp_path / "n.gguf", tensors_of() | {"blk.0.x.weight": values_of((2,))})
    with pytest.raises(UnsupportedModelError, match=r"n\.gguf: tensor blk\.0\.x\.weight"):
        describe([path])


def test_a_cache_that_cannot_be_written_is_one_error(path, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("KERNELET_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(ModelNotFoundError, match="KERNELET_CACHE_DIR"):
        resolve(path)
