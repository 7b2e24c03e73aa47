"""``kernelet encrypt``: makes a key, and an encrypted copy of a model."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acme_weights_encrypted.key import read_key, write_key
from kernelet.errors import ConfigError, ModelNotFoundError, WeightsError

if TYPE_CHECKING:
    import argparse

    from torch import Tensor, dtype

COPIED = ("*.json", "*.jinja", "*.model", "*.txt", "*.md", "LICENSE*", "additional_chat_templates/*")
"""What is copied as it is: configuration and tokenizer. Weights of another format are not."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommands."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    key = commands.add_parser("key", help="make a key")
    key.add_argument("file", type=Path, metavar="FILE", help="where it goes; nobody else may read it")
    model = commands.add_parser("model", help="make an encrypted copy of a model")
    model.add_argument("source", type=Path, metavar="SOURCE", help="folder with config.json and *.safetensors")
    model.add_argument("target", type=Path, metavar="TARGET", help="folder that is made")
    model.add_argument(
        "--key-file", type=Path, required=True, metavar="FILE", help="file that `kernelet encrypt key` made"
    )


def run(options: argparse.Namespace) -> int:
    """Does what was asked."""
    if options.action == "key":
        write_key(options.file)
        return 0
    files = encrypt(options.source, options.target, read_key(options.key_file))
    sys.stdout.write(f"{options.target}: {files} encrypted files\n")
    return 0


def encrypt(source: Path, target: Path, key: bytes) -> int:
    """Writes the encrypted copy of a model's folder, whole or not at all; returns its number of encrypted files.

    Raises:
        ModelNotFoundError: the source is no model with safetensors.
        ConfigError: the target exists.
        WeightsError: a file of the source is damaged.
    """
    weights = sorted(source.glob("*.safetensors"))
    if not weights or not (source / "config.json").is_file():
        raise ModelNotFoundError(f"{source} has no config.json and *.safetensors: name the folder of a model")
    if target.exists():
        raise ConfigError(f"{target} exists: name a folder that does not")
    making = target.with_name(f"{target.name}.unfinished")
    if making.exists():
        shutil.rmtree(making)
    making.mkdir(parents=True)
    try:
        copy_others(source, making)
        for path in weights:
            encrypt_file(path, making / f"{path.stem}.encrypted", key)
        making.rename(target)
    except BaseException:
        shutil.rmtree(making)
        raise
    return len(weights)


def copy_others(source: Path, target: Path) -> None:
    """Copies what is no weight."""
    for pattern in COPIED:
        for path in source.glob(pattern):
            if path.is_file() and not path.name.endswith(".safetensors.index.json"):
                place = target / path.relative_to(source)
                place.parent.mkdir(exist_ok=True)
                shutil.copyfile(path, place)


def encrypt_file(source: Path, target: Path, key: bytes) -> None:
    """Encrypts a file of safetensors.

    Raises:
        WeightsError: it is damaged.
    """
    from safetensors import SafetensorError, safe_open

    from acme_weights_encrypted.file import write_file

    try:
        with safe_open(source, framework="pt") as file:
            write_file(target, Safetensors(file), key)
    except SafetensorError as error:
        raise WeightsError(f"{source} is damaged or no safetensors file: {error}; fetch it again") from error


class Safetensors:
    """The tensors of an open file."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def shapes(self) -> Mapping[str, tuple[dtype, tuple[int, ...]]]:
        """By name; dtypes are torch's, so a part without rows is read for each."""
        return {name: self._shape(name) for name in self.file.keys()}  # noqa: SIM118 - it is no dictionary

    def read(self, name: str) -> Tensor:
        """One of them."""
        tensor: Tensor = self.file.get_tensor(name)
        return tensor

    def _shape(self, name: str) -> tuple[dtype, tuple[int, ...]]:
        part = self.file.get_slice(name)
        shape = tuple(part.get_shape())
        return (part[:0] if shape else self.read(name)).dtype, shape
