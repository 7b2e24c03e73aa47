from __future__ import annotations

from pathlib import Path

import pytest

from kernelet.contracts.model import ModelSource
from kernelet.contracts.offer import Settings
from kernelet.engine.model_resolution import HubError, download_from_hub, resolve_model
from kernelet.errors import ModelNotFoundError


class Source(ModelSource):
    def __init__(self, folder):
        super().__init__(Settings(plugin="p"))
        self.folder = folder

    def resolve(self, name):
        return self.folder


def nobody(name):
    return None


def unreachable(name):
    raise HubError("it is unreachable")


def forbidden(name):
    raise AssertionError("the hub must not be asked")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


def test_a_plugin_comes_first(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    asked = []

    def find(name):
        asked.append(name)
        return Source(folder)

    assert resolve_model("demo", find, download=forbidden) == folder
    assert asked == ["demo"]


def test_a_plugin_that_fails_is_not_replaced_by_the_hub(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"no config\.json"):
        resolve_model("demo", lambda name: Source(tmp_path), download=forbidden)


def test_a_file_that_a_plugin_would_take_and_that_is_not_there(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"^there is no file '.*no\.BIN'$"):
        resolve_model(str(tmp_path / "no.BIN"), nobody, download=forbidden, patterns=["*.bin"])


def test_a_folder_with_one_file_that_a_plugin_takes(tmp_path):
    made, holder = tmp_path / "made", tmp_path / "holder"
    for each in (made, holder):
        each.mkdir()
    (made / "config.json").write_text("{}")
    (holder / "a.bin").touch()
    (holder / "README.md").touch()
    asked = []

    def find(name):
        asked.append(name)
        return Source(made) if name.endswith(".bin") else None

    assert resolve_model(str(holder), find, download=forbidden, patterns=["*.bin"]) == made
    assert asked == [str(holder), str(holder / "a.bin")]
    (holder / "b.bin").touch()
    with pytest.raises(ModelNotFoundError, match=r"holder holds 2 files .*: name one: a\.bin, b\.bin$"):
        resolve_model(str(holder), find, download=forbidden, patterns=["*.bin"])


def test_then_a_folder(folder):
    assert resolve_model(str(folder), nobody, download=forbidden) == folder


def test_a_relative_folder_becomes_absolute(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert resolve_model(folder.name, nobody, download=forbidden) == folder


def test_then_the_hub():
    assert resolve_model("owner/name", nobody, download=lambda name: Path("/hub") / name) == Path("/hub/owner/name")


def test_the_error_says_for_each_way_why_it_failed(tmp_path):
    with pytest.raises(ModelNotFoundError) as caught:
        resolve_model("demmo", nobody, known=["demo", "other"], download=unreachable)
    message = str(caught.value)
    assert "no plugin knows this name (known: demo, other)" in message
    assert "as a folder: demmo does not exist" in message
    assert "on the Hugging Face hub: it is unreachable" in message
    assert "\n" not in message


@pytest.mark.parametrize("kind, reason", [("folder", r"has no config\.json"), ("file", "is a file")])
def test_what_is_there_and_is_no_model_is_said(tmp_path, kind, reason):
    path = tmp_path / "thing"
    path.mkdir() if kind == "folder" else path.write_text("")
    with pytest.raises(ModelNotFoundError, match=reason):
        resolve_model(str(path), nobody, download=unreachable)


@pytest.mark.parametrize("name", ["/some/path", "./here", "a/b/c", "--", "name with space"])
def test_what_cannot_be_a_repository_never_reaches_the_network(name):
    with pytest.raises(HubError):
        download_from_hub(name)


def test_the_error_names_plugins_that_do_not_run():
    with pytest.raises(ModelNotFoundError, match=r"(?s)hub: .*\nthose that do not run$"):
        resolve_model("demmo", nobody, download=unreachable, absent=lambda: "\nthose that do not run")
