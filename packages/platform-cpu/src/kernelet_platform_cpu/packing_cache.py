"""Packed weights in the user's cache folder, so that the next start reads them instead of packing again."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from torch import Tensor

from kernelet.contracts.op import PackedWeights
from kernelet_platform_cpu import packed_file
from kernelet_platform_cpu.packed_file import DamagedFileError

logger = logging.getLogger(__name__)

SUFFIX = ".packed"
SMALLEST = 256 << 10
"""Bytes of a weight below which packing it is no work."""

PATIENCE = 10.0
"""Seconds that ``close`` writes; what is left then is kept by another start."""

ABANDONED = 3600.0
"""Age in seconds of an unfinished file that nobody writes any more."""


class PackingCache(PackedWeights):
    """A folder with a file a weight; others may use the folder at the same time.

    Files are written when all weights are loaded: what is allocated meanwhile would lie between the weights for ever.

    When the folder is full, the files that were used longest ago go; never one that this process used.

    Args:
        folder: Made when the first weight is kept.
        limit: Bytes that the folder may hold.
        threads: Threads that read.
    """

    def __init__(self, folder: Path, limit: int, threads: int) -> None:
        self._folder = folder
        self._limit = limit
        self._readers = ThreadPoolExecutor(threads, thread_name_prefix="packed-weights")
        self._work: list[tuple[str, Mapping[str, Tensor]]] = []
        self._used: set[str] = set()
        self._sizes: dict[Path, tuple[float, int]] | None = None
        self._given_up = False

    def load(self, key: str) -> Mapping[str, Tensor] | None:
        path = self._path(key)
        try:
            found = packed_file.read(path, key, self._readers)
        except FileNotFoundError:
            return None
        except (DamagedFileError, OSError) as error:
            logger.warning("%s is not used and will be made again: %s", path, error)
            return None
        self._used.add(path.name)
        return found

    def save(self, key: str, tensors: Mapping[str, Tensor]) -> None:
        if sum(tensor.nbytes for tensor in tensors.values()) >= SMALLEST:
            self._work.append((key, tensors))

    def close(self) -> None:
        """Writes what there is to keep, for a while."""
        self._readers.shutdown()
        work, self._work = self._work, []
        until = time.monotonic() + PATIENCE
        for key, tensors in work:
            if self._given_up or time.monotonic() > until:
                break
            try:
                self._write(key, tensors)
            except OSError as error:
                self._give_up(f"{self._folder} cannot be written ({error})")

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}{SUFFIX}"

    def _write(self, key: str, tensors: Mapping[str, Tensor]) -> None:
        path = self._path(key)
        size = packed_file.size(tensors)
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self._make_room(size):
            self._give_up(f"the weights of this model need more than packed_cache_bytes ({self._limit})")
            return
        with tempfile.NamedTemporaryFile(dir=self._folder, prefix=".", suffix=SUFFIX, delete=False) as file:
            unfinished = Path(file.name)
            try:
                packed_file.write(file, key, tensors)
                file.flush()
                unfinished.replace(path)
            except OSError:
                unfinished.unlink(missing_ok=True)
                raise
        self._used.add(path.name)
        self._known()[path] = (time.time(), size)

    def _make_room(self, size: int) -> bool:
        """Removes files until this many bytes fit; False: not possible."""
        known = self._known()
        total = sum(each for _, each in known.values()) + size
        for path, (_, each) in sorted(known.items(), key=lambda item: item[1]):
            if total <= self._limit:
                break
            if path.name not in self._used:
                path.unlink(missing_ok=True)
                del known[path]
                total -= each
        return total <= self._limit

    def _known(self) -> dict[Path, tuple[float, int]]:
        """When each file of the folder was last used, and its size."""
        if self._sizes is None:
            self._sizes = {}
            for path in self._folder.glob(f"*{SUFFIX}"):
                try:
                    state = path.stat()
                except FileNotFoundError:  # another process made room
                    continue
                if path.name.startswith(".") and time.time() - state.st_mtime > ABANDONED:
                    path.unlink(missing_ok=True)
                elif not path.name.startswith("."):
                    self._sizes[path] = (state.st_mtime, state.st_size)
        return self._sizes

    def _give_up(self, why: str) -> None:
        self._given_up = True
        logger.warning(
            "Packed weights are not kept for the next start: %s. Set platform-cpu.packed_cache_bytes, name another "
            "folder in KERNELET_CACHE_DIR, or switch this off with --set platform-cpu.packed_cache=false.",
            why,
        )
