"""A file of tensors that is used only if it is whole.

It begins with ``MAGIC``, the length of the header (4 bytes, little-endian), its BLAKE2b digest (16 bytes), the header
in JSON. From the next page on come the bytes of each tensor, filled up to whole pages. The header has a digest of the
sums of all pages: that costs little beside reading them, and no torn, truncated or altered page keeps its sum and its
place by accident.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from concurrent.futures import Executor
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from kernelet_platform_cpu.allocator import zeroed_weight

MAGIC = b"KNPACK1\n"
PREFIX = len(MAGIC) + 4 + 16
PAGE = 4096
CHUNK = 256 * PAGE
"""Bytes that a thread reads at a time."""

LONGEST_HEADER = 1 << 20

Bytes = npt.NDArray[np.uint8]


class DamagedFileError(Exception):
    """The file is not what was written."""


def write(file: IO[bytes], key: str, tensors: Mapping[str, Tensor]) -> None:
    """Writes tensors of the host.

    Args:
        file: Is at its beginning.
        key: What ``read`` asks for.
        tensors: By name; any dtypes and shapes.
    """
    raw = {name: _bytes_of(tensor) for name, tensor in tensors.items()}
    sums = blake2b(digest_size=16)
    for data in raw.values():
        for begin in range(0, len(data), CHUNK):
            sums.update(_page_sums(data[begin : begin + CHUNK]))
    described = [(name, _dtype_name(tensor), list(tensor.shape)) for name, tensor in tensors.items()]
    header = json.dumps({"key": key, "tensors": described, "pages": sums.hexdigest()}).encode()
    prefix = MAGIC + len(header).to_bytes(4, "little") + blake2b(header, digest_size=16).digest()
    parts: list[bytes | memoryview] = [prefix + header, *(data.data for data in raw.values())]
    for part in parts:
        file.write(part)
        file.write(bytes(-len(part) % PAGE))


def size(tensors: Mapping[str, Tensor]) -> int:
    """Bytes of the file that ``write`` makes of some tensors, whose names fit on a page."""
    return PAGE + sum(_whole_pages(tensor.nbytes) for tensor in tensors.values())


def read(path: Path, key: str, executor: Executor) -> dict[str, Tensor]:
    """Reads tensors into memory of their own, several pieces at a time.

    Raises:
        FileNotFoundError: there is no such file.
        DamagedFileError: it is not what ``write`` wrote under this key.
    """
    with path.open("rb") as file:
        header, begin = _header(file, key)
        found: dict[str, Tensor] = {}
        pieces: list[tuple[int, Bytes]] = []
        for name, dtype, shape in header["tensors"]:
            kind = getattr(torch, dtype)
            nbytes = math.prod(shape) * kind.itemsize
            pages = zeroed_weight((_whole_pages(nbytes),), torch.uint8)
            found[name] = pages[:nbytes].view(kind).view(shape)
            pieces += [(begin + at, pages[at : at + CHUNK].numpy()) for at in range(0, len(pages), CHUNK)]
            begin += len(pages)
        if os.fstat(file.fileno()).st_size != begin:
            raise DamagedFileError(f"it should have {begin} bytes")
        sums = blake2b(digest_size=16)
        for part in executor.map(_read_piece, [file.fileno()] * len(pieces), pieces):
            sums.update(part)
    if sums.hexdigest() != header["pages"]:
        raise DamagedFileError("its pages do not have the sums that its header states")
    os.utime(path)  # it was used now
    return found


def _header(file: IO[bytes], key: str) -> tuple[dict[str, Any], int]:
    """The header, and where the data begins."""
    prefix = file.read(PREFIX)
    length = int.from_bytes(prefix[len(MAGIC) : len(MAGIC) + 4], "little")
    if len(prefix) < PREFIX or not prefix.startswith(MAGIC) or length > LONGEST_HEADER:
        raise DamagedFileError("it is no file of packed weights")
    header = file.read(length)
    if blake2b(header, digest_size=16).digest() != prefix[-16:]:
        raise DamagedFileError("its header is damaged")
    values: dict[str, Any] = json.loads(header)
    if values["key"] != key:
        raise DamagedFileError("it holds another weight")
    return values, _whole_pages(PREFIX + length)


def _read_piece(descriptor: int, piece: tuple[int, Bytes]) -> bytes:
    """Fills the array from an offset of the file, and returns the sums of its pages."""
    begin, target = piece
    if os.preadv(descriptor, [target.data], begin) != len(target):
        raise DamagedFileError("it is too short")
    return _page_sums(target)


def _page_sums(data: Bytes) -> bytes:
    """The sum of each page as 64-bit integers; the last page is filled up with zeros."""
    missing = -len(data) % PAGE
    whole = np.concatenate((data, np.zeros(missing, np.uint8))) if missing else data
    sums: npt.NDArray[np.uint64] = whole.view(np.uint64).reshape(-1, PAGE // 8).sum(axis=1, dtype=np.uint64)
    return sums.tobytes()


def _bytes_of(tensor: Tensor) -> Bytes:
    flat: Bytes = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    return flat


def _dtype_name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _whole_pages(nbytes: int) -> int:
    return -(-nbytes // PAGE) * PAGE
