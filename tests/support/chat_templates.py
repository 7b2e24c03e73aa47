"""Chat templates of public models, for long tests: taken from source archives of the package index once.

None is kept here. Those that no archive has are read from a folder that a variable names.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tarfile
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import pytest

from kernelet.config import env
from kernelet.text.chat_template import ChatTemplate

OWN_FOLDER: Final = "KERNELET_CHAT_TEMPLATES"
"""Variable with the folder of templates that no archive has."""


@dataclass(frozen=True)
class Archive:
    """A source archive.

    Attributes:
        url: Where the package index keeps it.
        sha256: Of the file.
        inside: Folder of the templates in it, without the first one.
    """

    url: str
    sha256: str
    inside: str


LLAMA_CPP: Final = Archive(
    "https://files.pythonhosted.org/packages/ec/e9/e7de2b0463ea3ffbf0ede6cb21b58c1258a8f6521aae45ca773a59fe7cf3/"
    "llama_cpp_python-0.3.36.tar.gz",
    "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
    "vendor/llama.cpp/models/templates/",
)
VLLM: Final = Archive(
    "https://files.pythonhosted.org/packages/f7/25/aa5684e9c59d6fc75f78926b7f15e8d9adc7de2d9e6e7575b80776ad8169/"
    "vllm-0.33.0.tar.gz",
    "f4c33c2503d52bb411146afa9618a4f48bed68912f617e6803ac8d76e4c74112",
    "examples/",
)


def template_source(file_name: str, archive: Archive = LLAMA_CPP) -> str:
    """The source of a template that an archive has: ``"Qwen-Qwen3-0.6B.jinja"``.

    Raises:
        FileNotFoundError: There is none of this name.
    """
    return (_folder(archive) / file_name).read_text(encoding="utf-8")


def template_names() -> list[str]:
    """The names of all that llama.cpp keeps."""
    return sorted(path.name for path in _folder(LLAMA_CPP).glob("*.jinja"))


def own_template(file_name: str, where: str) -> str:
    """The source of a template that no archive has; skips the test where the folder is not named.

    Args:
        file_name: As it is published.
        where: Says where it is public.
    """
    folder = os.environ.get(OWN_FOLDER)
    if not folder:
        pytest.skip(f"set {OWN_FOLDER} to a folder with {file_name} ({where})")
    return (Path(folder) / file_name).read_text(encoding="utf-8")


def render_template(
    source: str, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None = None, **kwargs: Any
) -> str:
    """What a template writes.

    Args:
        source: The template.
        messages: The chat.
        tools: As requests have them.
        kwargs: Further variables of the template; ``add_generation_prompt`` is False if it is not among them. Special
            tokens are empty texts, but for those that are given as ``bos_token`` or ``eos_token``.
    """
    tokens = {name: str(kwargs.pop(name, "")) for name in ("bos_token", "eos_token")}
    generates = bool(kwargs.pop("add_generation_prompt", False))
    template = _compiled(source, tuple(tokens.items()))
    return template.render(messages, tools=tools, add_generation_prompt=generates, template_kwargs=kwargs)


@lru_cache(maxsize=8)
def _compiled(source: str, tokens: tuple[tuple[str, str], ...]) -> ChatTemplate:
    return ChatTemplate({"default": source}, dict(tokens))


@cache
def _folder(archive: Archive) -> Path:
    house = env.cache_dir() / "tests"
    folder = house / f"templates-{archive.sha256[:12]}"
    house.mkdir(parents=True, exist_ok=True)
    with (house / "templates.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=house) as new:
                _unpack(_download(archive, Path(new)), archive.inside, Path(new) / "templates")
                (Path(new) / "templates").rename(folder)
    return folder


def _download(archive: Archive, folder: Path) -> Path:
    path = folder / "archive.tar.gz"
    urllib.request.urlretrieve(archive.url, path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    assert found == archive.sha256, f"{archive.url} has SHA-256 {found}, expected {archive.sha256}"
    return path


def _unpack(path: Path, inside: str, folder: Path) -> None:
    folder.mkdir()
    with tarfile.open(path) as files:
        for member in files:
            place = member.name.partition("/")[2]
            name = place.removeprefix(inside)
            if place.startswith(inside) and name.endswith(".jinja") and "/" not in name:
                data = files.extractfile(member)
                assert data is not None
                (folder / name).write_bytes(data.read())
