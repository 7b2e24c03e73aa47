"""Changes of files that can be taken back."""

from __future__ import annotations

from pathlib import Path


class Edits:
    """Remembers what files were before they were written."""

    def __init__(self) -> None:
        self._before: dict[Path, bytes | None] = {}

    @property
    def paths(self) -> list[Path]:
        """Files that are not what they were."""
        return [path for path, before in self._before.items() if path.exists() and path.read_bytes() != before]

    def watch(self, *paths: Path) -> None:
        """Others will write these."""
        for path in paths:
            self._before.setdefault(path, path.read_bytes() if path.exists() else None)

    def write(self, path: Path, text: str) -> None:
        self.watch(path)
        path.write_text(text, encoding="utf-8")

    def restore(self) -> None:
        """Everything is as it was."""
        for path, before in self._before.items():
            if before is None:
                path.unlink(missing_ok=True)
            elif path.read_bytes() != before:
                path.write_bytes(before)
