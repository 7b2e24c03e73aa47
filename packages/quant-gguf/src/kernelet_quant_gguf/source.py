"""A file is a model: a folder in Hugging Face's form, made once, with a link to the file."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelet.config import env
from kernelet.contracts.model import ModelSource
from kernelet.errors import ModelNotFoundError, UnsupportedModelError, WeightsError
from kernelet_quant_gguf.config import hf_config
from kernelet_quant_gguf.file import GGUFFile
from kernelet_quant_gguf.names import Piece, architecture_of, pieces_of
from kernelet_quant_gguf.tokenizer.files import tokenizer_config, tokenizer_json
from kernelet_quant_gguf.tokenizer.vocabulary import Vocabulary

FORMAT = 1
"""Raised when what is made of a file changes, so that it is made again."""

_PART = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<end>\.gguf)", re.IGNORECASE)


class GGUFSource(ModelSource):
    """Resolves the path of a file to a folder in the user's cache."""

    def resolve(self, name: str) -> Path:
        files = parts_of(Path(name).expanduser().resolve())
        key = f"format {FORMAT}: {'; '.join(map(_identity, files))}"
        home = env.cache_dir() / "models" / "gguf" / f"{files[0].stem}-{_digest(str(files[0]))}"
        folder = home / _digest(key)
        if not (folder / "config.json").is_file():
            try:
                _make(files, home, folder)
            except OSError as error:
                raise ModelNotFoundError(
                    f"{name}: its tokenizer and configuration cannot be stored in {home}: {error}. Name a folder with "
                    f"free space in KERNELET_CACHE_DIR"
                ) from error
        return folder


def parts_of(path: Path) -> list[Path]:
    """All files of a model; ``a-00001-of-00003.gguf`` is the first of three.

    Raises:
        ModelNotFoundError: one is missing.
    """
    match = _PART.fullmatch(path.name)
    if match is None:
        return [path]
    count = int(match["count"])
    files = [
        path.with_name(f"{match['stem']}-{number:05}-of-{count:05}{match['end']}") for number in range(1, count + 1)
    ]
    if absent := [file.name for file in files if not file.is_file()]:
        raise ModelNotFoundError(f"{path} is a part of a model of {count} files; missing are {', '.join(absent)}")
    return files


def describe(files: Sequence[Path]) -> dict[str, Any]:
    """What the folder holds besides the files, as objects of JSON by name.

    Raises:
        UnsupportedModelError: something of the file is not served.
        WeightsError: a file is damaged.
    """
    headers = [GGUFFile.read(path) for path in files]
    first = headers[0]
    architecture = architecture_of(first)
    pieces: dict[str, Piece] = {}
    for header in headers:
        found = pieces_of(architecture, header, first.fields)
        if twice := sorted(pieces.keys() & found.keys()):
            raise WeightsError(f"{header.path} holds {twice[0]}, which a file before it holds too")
        pieces |= found
    config = hf_config(architecture, first, pieces)
    try:
        vocabulary = Vocabulary.of(first.fields)
        tokenizer = {
            "tokenizer.json": tokenizer_json(vocabulary),
            "tokenizer_config.json": tokenizer_config(vocabulary)
            | {"model_max_length": config["max_position_embeddings"]},
        }
    except UnsupportedModelError as error:
        raise UnsupportedModelError(f"{first.path}: {error}") from error
    ids: dict[str, Any] = {"bos_token_id": vocabulary.role("bos"), "pad_token_id": vocabulary.role("padding")}
    ids = {key: value for key, value in ids.items() if value is not None} | {"eos_token_id": vocabulary.end_ids()}
    return {**tokenizer, "generation_config.json": ids, "config.json": config | ids}


def _make(files: Sequence[Path], home: Path, folder: Path) -> None:
    said = describe(files)
    home.mkdir(parents=True, exist_ok=True)
    old = [path for path in home.iterdir() if path != folder and not path.name.startswith(".")]
    with tempfile.TemporaryDirectory(prefix=".new-", dir=home) as scratch:
        new = Path(scratch) / "new"
        new.mkdir()
        for name, value in said.items():
            (new / name).write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        for file in files:
            (new / f"{file.stem}.gguf").symlink_to(file)
        try:
            new.rename(folder)
        except OSError:
            if not (folder / "config.json").is_file():
                raise  # else another process was faster
    for path in old:  # of what the file was before
        shutil.rmtree(path, ignore_errors=True)


def _identity(path: Path) -> str:
    found = path.stat()
    return f"{path} {found.st_ino} {found.st_size} {found.st_mtime_ns}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
