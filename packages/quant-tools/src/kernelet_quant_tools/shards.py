"""Writes tensors as they come into ``*.safetensors`` files of a size, and the index of several."""

from __future__ import annotations

import json
from pathlib import Path

import safetensors.torch
from torch import Tensor

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"


class ShardWriter:
    """Files in Hugging Face's form. Tensors are held until a file is full.

    Args:
        folder: Where to.
        limit: Bytes from which on a file is full.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._held: dict[str, Tensor] = {}
        self._files: list[list[str]] = []
        self._bytes = 0
        self.total = 0

    def add(self, name: str, tensor: Tensor) -> None:
        """Takes a tensor; its memory is the writer's from now on, unless it is a view of another's.

        Raises:
            ValueError: the name was there before.
        """
        if name in self._held or any(name in names for names in self._files):
            raise ValueError(f"{name} is written twice")
        whole = tensor.is_contiguous() and tensor.untyped_storage().nbytes() == tensor.nbytes
        self._held[name] = tensor if whole else tensor.contiguous().clone()
        self._bytes += tensor.nbytes
        self.total += tensor.nbytes
        if self._bytes >= self._limit:
            self._write()

    def close(self) -> None:
        """Writes the rest, gives the files their names, and writes the index of several."""
        if self._held or not self._files:
            self._write()
        count = len(self._files)
        if count == 1:
            self._part(1).rename(self._folder / SINGLE)
            return
        where: dict[str, str] = {}
        for number, names in enumerate(self._files, 1):
            file = f"model-{number:05}-of-{count:05}.safetensors"
            self._part(number).rename(self._folder / file)
            where |= dict.fromkeys(names, file)
        index = {"metadata": {"total_size": self.total}, "weight_map": dict(sorted(where.items()))}
        (self._folder / INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")

    def _write(self) -> None:
        self._files.append(list(self._held))
        part = self._part(len(self._files))
        part.touch()  # with the permissions that files of this user have; the library's are its own
        mode = part.stat().st_mode
        safetensors.torch.save_file(self._held, part, {"format": "pt"})
        part.chmod(mode)
        self._held, self._bytes = {}, 0

    def _part(self, number: int) -> Path:
        return self._folder / f"part-{number:05}.safetensors"
