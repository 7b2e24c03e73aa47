"""A folder in the user's cache that is either whole or not there, whoever else writes it at the same time."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from kernelet_model_smollm2.digest import digest

SEAL = "kernelet.json"
"""Names every file of the folder with its size, modification time and SHA-256; written last."""


class Store:
    """One stored folder.

    Args:
        folder: Where it lives; its parent is made when needed.
        source: Identifies what it is made of; a folder made of something else is not used.
    """

    def __init__(self, folder: Path, source: str) -> None:
        self.folder = folder
        self.source = source

    def problem(self) -> str | None:
        """Why the folder cannot be used; None: it is whole.

        A file whose size and modification time are those of the seal is not read again.
        """
        if not self.folder.is_dir():
            return "it is not there"
        try:
            seal = json.loads((self.folder / SEAL).read_text(encoding="utf-8"))
            if seal["source"] != self.source:
                return f"it was made of {seal['source']}"
            for name, (size, modified, sha256) in seal["files"].items():
                state = (self.folder / name).stat()
                if state.st_size != size:
                    return f"{name} has {state.st_size} bytes instead of {size}"
                if state.st_mtime_ns != modified and digest(self.folder / name) != sha256:
                    return f"{name} was changed"
        except FileNotFoundError as error:
            return f"{Path(error.filename).name} is missing"
        except (ValueError, KeyError, TypeError) as error:
            return f"{SEAL} is damaged ({error})"
        return None

    def ensure(self, make: Callable[[Path], None], on_damage: Callable[[str], None]) -> Path:
        """Returns the folder, made by ``make(empty folder)`` if it is not there or damaged.

        Args:
            make: Fills a folder beside the final one; what it raises is passed on and nothing is stored.
            on_damage: Told why an existing folder is made again.
        """
        if self.problem() is None:
            return self.folder
        # imported here: it costs more than finding a whole folder
        from filelock import FileLock

        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder.parent / f".{self.folder.name}.lock"):
            # another process may have made it while this one waited
            if (problem := self.problem()) is not None:
                if self.folder.is_dir():
                    on_damage(problem)
                self._make(make)
        return self.folder

    def _make(self, make: Callable[[Path], None]) -> None:
        with tempfile.TemporaryDirectory(prefix=f".{self.folder.name}-", dir=self.folder.parent) as scratch:
            new = Path(scratch) / "new"
            new.mkdir()
            make(new)
            self._seal(new)
            if self.folder.is_dir():
                # who has the old files open keeps them until the scratch folder goes
                self.folder.rename(Path(scratch) / "old")
            new.rename(self.folder)

    def _seal(self, folder: Path) -> None:
        files = {}
        for path in sorted(folder.iterdir()):
            state = path.stat()
            files[path.name] = (state.st_size, state.st_mtime_ns, digest(path))
        text = json.dumps({"source": self.source, "files": files}, indent=2)
        (folder / SEAL).write_text(text + "\n", encoding="utf-8")
