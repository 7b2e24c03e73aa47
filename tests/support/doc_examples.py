"""The code blocks of the documentation, and packages made of those that have a file's name as their title."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from workspace import ROOT

BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its title (a path) or an empty text, its content."""

    page: Path
    number: int
    language: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.title or self.number}"


def blocks(page: Path) -> list[Block]:
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [Block(page, number, *match) for number, match in enumerate(found, 1)]


def write_files(page: Path, folder: Path) -> list[Path]:
    """Writes the titled blocks of a page, as a reader would."""
    written = []
    for block in blocks(page):
        if block.title:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            written.append(path)
    return written
