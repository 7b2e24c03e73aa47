"""The reader that the core is offered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from acme_weights_encrypted.file import EncryptedFile
from acme_weights_encrypted.key import HOW, OPTION, read_key
from kernelet.contracts.model import WeightReader
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError, WeightsError

PATTERN = "*.encrypted"


class EncryptedReader(WeightReader):
    """All encrypted files of a folder as one checkpoint."""

    def __init__(self, folder: Path, key: bytes | None = None) -> None:
        """Opens every file and reads its index.

        Raises:
            WeightsError: a file is damaged, or two hold the same tensor.
            ConfigError: there is no key, or it is another one.
        """
        if key is None:
            raise ConfigError(f"the weights in {folder} are encrypted: name the file with the key, {OPTION} ({HOW})")
        self.folder = folder
        self._files: dict[str, EncryptedFile] = {}
        for path in sorted(folder.glob(PATTERN)):
            file = EncryptedFile(path, key)
            for name in file.entries:
                if name in self._files:
                    raise WeightsError(f"{name} is in {self._files[name].path} and in {path}: remove one of them")
                self._files[name] = file

    @classmethod
    def open(cls, folder: Path, settings: Settings) -> EncryptedReader:
        """With the key of the file that the operator names."""
        if not any(folder.glob(PATTERN)):
            raise WeightsError(f"{folder} holds no {PATTERN} file; is it the folder of an encrypted model?")
        key_file = settings["key_file"]
        return cls(folder, read_key(Path(str(key_file)).expanduser()) if key_file else None)

    def names(self) -> Sequence[str]:
        return sorted(self._files)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._file(name).entries[name].shape

    def read(self, name: str, rows: slice | None = None) -> Tensor:
        return self._file(name).read(name, rows)

    def nbytes(self, name: str | None = None) -> int:
        return sum(self._file(one).entries[one].nbytes for one in ([name] if name is not None else self._files))

    def _file(self, name: str) -> EncryptedFile:
        if name not in self._files:
            raise WeightsError(f"{self.folder} holds no tensor {name!r}")
        return self._files[name]
