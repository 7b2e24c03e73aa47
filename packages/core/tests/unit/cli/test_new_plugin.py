from __future__ import annotations

import tomllib

import pytest

from kernelet.cli.new_plugin import author_of
from kernelet.cli.plugin_template import template_kinds
from kernelet.cli.usage import UsageError


def test_it_writes_a_folder_and_says_what_to_run(kernelet, tmp_path):
    code, out, err = kernelet("plugins", "new", "op", "Acme_Fast", "--directory", str(tmp_path / "made"))
    assert (code, err) == (0, "")
    folder = tmp_path / "made" / "Acme_Fast"
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "acme-fast"
    assert project["authors"] == [{"name": "The authors of acme-fast"}]
    assert project["entry-points"]["kernelet.plugins"] == {"op-acme-fast": "acme_fast.plugin"}
    assert project["entry-points"]["kernelet.conformance"] == {"op-acme-fast": "acme_fast.conformance"}
    assert out.splitlines()[-1].startswith(f"Next: cd {folder} && ")
    before = (folder / "README.md").read_text(encoding="utf-8")
    code, _, err = kernelet("plugins", "new", "platform", "Acme_Fast", "--directory", str(tmp_path / "made"))
    assert code == 2
    assert "exists and is not empty" in err
    assert (folder / "README.md").read_text(encoding="utf-8") == before


def test_an_empty_folder_is_used_and_a_file_is_not(kernelet, tmp_path):
    (tmp_path / "acme-one").mkdir()
    assert kernelet("plugins", "new", "op", "acme-one", "--directory", str(tmp_path))[0] == 0
    (tmp_path / "acme-two").touch()
    code, _, err = kernelet("plugins", "new", "op", "acme-two", "--directory", str(tmp_path))
    assert code == 2
    assert "acme-two exists" in err
    code, _, err = kernelet("plugins", "new", "op", "acme-three", "--directory", str(tmp_path / "acme-two"))
    assert code == 2
    assert "cannot be written" in err


@pytest.mark.parametrize(
    "arguments", [("nonsense", "acme-x"), ("op", "kernelet-op-x"), ("op", "acme-x", "--author", "<")]
)
def test_wrong_usage_writes_nothing(kernelet, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    code, _, err = kernelet("plugins", "new", *arguments)
    assert code == 2
    assert err
    assert not list(tmp_path.iterdir())


def test_help_names_every_kind_and_how_names_follow(kernelet):
    code, out, _ = kernelet("plugins", "new", "--help")
    assert code == 0
    lines = [line.split(maxsplit=1) for line in out.splitlines() if line.strip()]
    for kind in template_kinds().values():
        assert [kind.name, kind.summary] in lines
    assert "platform-board" in out


@pytest.mark.parametrize(
    "text, author",
    [
        ("Jane Doe", {"name": "Jane Doe"}),
        (' Jane "J" Döe <jane@acme.example> ', {"name": 'Jane "J" Döe', "email": "jane@acme.example"}),
    ],
)
def test_author(text, author):
    assert author_of(text) == author


@pytest.mark.parametrize("text", ["", " ", "<jane@acme.example>", "Jane <jane>", "Jane <a@b> c", "Jane\nDoe"])
def test_no_author(text):
    with pytest.raises(UsageError, match="--author"):
        author_of(text)
