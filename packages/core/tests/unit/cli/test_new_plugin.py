from __future__ import annotations

import tomllib
from email.parser import Parser
from email.policy import default
from email.utils import getaddresses
from zipfile import ZipFile

import pytest
from hatchling.build import build_wheel

from kernelet.cli.main import main
from kernelet.cli.new_plugin import author_of
from kernelet.cli.plugin_template import template_kinds
from kernelet.cli.usage import UsageError


def test_it_writes_a_folder_and_says_what_to_run(kernelet, tmp_path):
    (tmp_path / "made").mkdir()
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
    wrong = {
        ("acme-two", tmp_path): "acme-two is a file: take another NAME",
        ("acme-three", tmp_path / "acme-two"): "acme-two is a file: name a folder",
        ("acme-three", tmp_path / "acme-two" / "x"): "x does not exist: correct it",
        ("acme-three", tmp_path / "typo"): "typo does not exist: correct it",
    }
    for (name, directory), message in wrong.items():
        code, out, err = kernelet("plugins", "new", "op", name, "--directory", str(directory))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err
        assert "Errno" not in err
    assert {path.name for path in tmp_path.iterdir()} == {"acme-one", "acme-two"}


def test_a_folder_that_cannot_be_written(kernelet, tmp_path):
    (tmp_path / "acme-one").symlink_to(tmp_path / "nowhere")
    code, _, err = kernelet("plugins", "new", "op", "acme-one", "--directory", str(tmp_path))
    assert code == 2
    assert err == f"error: {tmp_path / 'acme-one'} cannot be written: File exists\n"


def test_a_name_of_another_kind_is_taken_with_a_warning(kernelet, tmp_path):
    arguments = ("acme-kernelet-platform-board", "--directory", str(tmp_path))
    code, out, err = kernelet("plugins", "new", "scheduler", *arguments)
    assert code == 0
    assert "the plugin scheduler-platform-board" in out
    assert err == (
        "warning: 'acme-kernelet-platform-board' speaks of the kind platform, and this is a scheduler: the plugin is "
        "called scheduler-platform-board and its offer platform-board\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense", "acme-x"),
        ("op", "kernelet-op-x"),
        ("op", "acme-x", "--author", "<"),
        ("op", "torch"),
        ("op", "pytest"),
    ],
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
    assert "speaks of another kind than KIND" in out


@pytest.mark.parametrize(
    "text, author",
    [
        ("Jane Doe", {"name": "Jane Doe"}),
        (' Jane "J" Döe <jane@acme.example> ', {"name": 'Jane "J" Döe', "email": "jane@acme.example"}),
        (
            "Zoë, M. Müller <z.m+x@xn--mller-kva.example>",
            {"name": "Zoë, M. Müller", "email": "z.m+x@xn--mller-kva.example"},
        ),
        ("山田 太郎 <taro@acme.example>", {"name": "山田 太郎", "email": "taro@acme.example"}),
    ],
)
def test_author(text, author, tmp_path, monkeypatch):
    """And the metadata that hatchling writes has it."""
    assert author_of(text) == author
    code = main(["plugins", "new", "op", "acme-x", "--directory", str(tmp_path), "--author", text])
    assert code == 0
    monkeypatch.chdir(tmp_path / "acme-x")
    wheel = build_wheel(str(tmp_path))
    with ZipFile(tmp_path / wheel) as archive:
        text = archive.read("acme_x-0.1.0.dist-info/METADATA").decode("utf-8")
    fields = Parser(policy=default).parsestr(text)
    if "email" in author:
        (found,) = fields["Author-email"] and getaddresses([fields["Author-email"]])
        assert found == (author["name"], author["email"])
    else:
        assert fields["Author"] == author["name"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "<jane@acme.example>",
        "jane@acme.example",
        "Jane <jane>",
        "Jane <>",
        "Jane <a@b> c",
        "Jane <a@b>",
        "Jane <a..b@acme.example>",
        "Jane <a.@acme.example>",
        "Jane <a b@acme.example>",
        "Jane <a@-acme.example>",
        "Jane <a@acme.example.>",
        "Jane <a@@acme.example>",
        "Jane\nDoe",
        "Zoë (zoë@müller.example)",
        "Zoë \N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}zoë@müller.example>",
    ],
)
def test_no_author(text):
    with pytest.raises(UsageError, match=r"--author .*write (a name, or )?'Name <"):
        author_of(text)


@pytest.mark.parametrize("email", ["zoë@mueller.example", "zoe@müller.example"])
def test_an_address_outside_ascii(email):
    with pytest.raises(UsageError, match="no address with letters outside ASCII"):
        author_of(f"Zoë Müller <{email}>")
