"""Files of a checkpoint: how they are damaged, spread and watched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor


@dataclass(frozen=True)
class Damage:
    """Something that happens to a file.

    Attributes:
        what: In words, after "a file".
        of: Its bytes after it happened.
    """

    what: str
    of: Callable[[bytes], bytes]


def damages(*, changed: bool) -> tuple[Damage, ...]:
    """What may happen to a file.

    Args:
        changed: Also a byte that is another in the middle, which only a checksum can show.
    """
    lost = (
        Damage("that ends in the middle", lambda data: data[: len(data) // 2]),
        Damage("whose last byte is lost", lambda data: data[:-1]),
        Damage("without content", lambda _: b""),
        Damage("whose first bytes are others", lambda data: bytes(byte ^ 0x5A for byte in data[:64]) + data[64:]),
    )
    flipped = Damage(
        "in which one byte was changed",
        lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
    )
    return (*lost, flipped) if changed else lost


def files_of(folder: Path) -> list[Path]:
    """All files, also those of folders inside."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """Files that the core would find."""
    return sorted({path for pattern in patterns for path in folder.glob(pattern)})


def spread(
    write: Callable[[Path, Mapping[str, Tensor]], None],
    scratch: Path,
    folder: Path,
    number: int,
    tensors: Mapping[str, Tensor],
) -> None:
    """Writes one more file into a folder, under a stem of its own.

    Args:
        write: Writes a file of the format.
        scratch: Empty; where it is written first.
        folder: Where it goes.
        number: Of the file.
        tensors: What it holds.
    """
    write(scratch, tensors)
    for path in files_of(scratch):
        path.rename(folder / f"part-{number:02}{path.suffix}")


def bytes_read() -> int | None:
    """Bytes that this process asked the system to read, or brought into memory from files; None: not told."""
    try:
        counters = Path("/proc/self/io").read_text(encoding="ascii")
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    return _field(counters, "rchar") + 1024 * _field(status, "RssFile")


def open_files(folder: Path) -> list[str]:
    """Files below a folder that this process holds open or mapped; none where the system does not tell."""
    descriptors = Path("/proc/self/fd")
    maps = Path("/proc/self/maps")
    if not descriptors.is_dir() or not maps.is_file():
        return []
    found = {link for path in descriptors.iterdir() if (link := _target(path)).startswith(f"{folder.resolve()}/")}
    mapped = maps.read_text(encoding="utf-8", errors="replace").splitlines()
    return sorted(found | {line for line in mapped if f" {folder.resolve()}/" in line})


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:  # closed since it was listed
        return ""


def _field(text: str, name: str) -> int:
    line = next((line for line in text.splitlines() if line.startswith(f"{name}:")), f"{name}: 0")
    return int(line.split()[1])
