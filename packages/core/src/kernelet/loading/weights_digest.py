"""Names the weights of a checkpoint by their content, without reading all of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import torch

from kernelet.contracts.model import WeightReader

ROWS, ELEMENTS = 4, 64
"""Of each tensor: so many rows, evenly spread, and of each row so many elements."""

DIGEST_BYTES = 16


def weights_digest(reader: WeightReader) -> str:
    """A digest of every tensor's name, shape, size and of samples of its content.

    Training changes nearly all elements of the tensors that it changes at all, so the samples tell models apart that
    are made from one another. A checkpoint in which only single elements were edited by hand may keep its digest.
    """
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for name in sorted(reader.names()):
        shape = tuple(reader.shape(name))
        digest.update(repr((name, shape, reader.nbytes(name))).encode())
        for row in _rows(reader, name, shape):
            digest.update(_sample(row))
    return digest.hexdigest()


def _rows(reader: WeightReader, name: str, shape: tuple[int, ...]) -> Iterator[torch.Tensor]:
    if len(shape) < 2 or shape[0] <= ROWS:
        yield reader.read(name)
        return
    for index in range(ROWS):
        row = index * (shape[0] - 1) // (ROWS - 1)
        yield reader.read(name, slice(row, row + 1))


def _sample(row: torch.Tensor) -> bytes:
    flat = row.detach().reshape(-1)
    picked = flat[:: max(1, flat.numel() // ELEMENTS)].contiguous()
    return picked.view(torch.uint8).cpu().numpy().tobytes()
