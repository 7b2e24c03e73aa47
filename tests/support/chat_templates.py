"""Chat templates of public models, for long tests: taken from a source archive of the package index once."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from kernelet.config import env
from kernelet.text.chat_template import ChatTemplate

ARCHIVE: Final = "llama-cpp-python==0.3.36"
SHA256: Final = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
INSIDE: Final = "vendor/llama.cpp/models/templates/"


def template_source(file_name: str) -> str:
    """The source of a template that llama.cpp keeps: ``"Qwen-Qwen3-0.6B.jinja"``.

    Raises:
        FileNotFoundError: There is none of this name.
    """
    return (_folder() / file_name).read_text(encoding="utf-8")


def template_names() -> list[str]:
    """The names of all of them."""
    return sorted(path.name for path in _folder().glob("*.jinja"))


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
def _folder() -> Path:
    house = env.cache_dir() / "tests"
    folder = house / f"templates-{SHA256[:12]}"
    house.mkdir(parents=True, exist_ok=True)
    with (house / "templates.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=house) as new:
                _unpack(_download(Path(new)), Path(new) / "templates")
                (Path(new) / "templates").rename(folder)
    return folder


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", ARCHIVE]
    command += ["--no-build-isolation", "--dest", str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{ARCHIVE} cannot be downloaded:\n{done.stderr}"
    archive = next(folder.glob("*.tar.gz"))
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert found == SHA256, f"{archive.name} has SHA-256 {found}, expected {SHA256}"
    return archive


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir()
    with tarfile.open(archive) as files:
        for member in files:
            inside = member.name.partition("/")[2]
            if inside.startswith(INSIDE) and inside.endswith(".jinja"):
                data = files.extractfile(member)
                assert data is not None
                (folder / inside.removeprefix(INSIDE)).write_bytes(data.read())
