"""What the test kit holds this format to: ``kernelet plugins doctor --conformance``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from acme_weights_encrypted.file import DTYPES, write_file
from acme_weights_encrypted.key import read_key, write_key
from kernelet.contracts.model import WeightFormatOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.weight_format import WeightFormatCapabilities, WeightFormatSuite


class InMemory:
    """Tensors that are there already."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.tensors = tensors

    def shapes(self) -> Mapping[str, tuple[torch.dtype, tuple[int, ...]]]:
        """By name."""
        return {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in self.tensors.items()}

    def read(self, name: str) -> Tensor:
        """One of them."""
        return self.tensors[name]


class TestEncryptedWeights(WeightFormatSuite):
    capabilities: ClassVar[WeightFormatCapabilities] = WeightFormatCapabilities(dtypes=DTYPES, checksums=True)

    @pytest.fixture
    def key_file(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        path = tmp_path_factory.mktemp("key") / "model.key"
        write_key(path)
        return path

    @pytest.fixture
    def offered(self, key_file: Path) -> Offered[WeightFormatOffer]:
        return find_offer("acme_weights_encrypted.plugin", WeightFormatOffer, key_file=str(key_file))

    @pytest.fixture
    def write(self, key_file: Path) -> Callable[[Path, Mapping[str, Tensor]], None]:
        def write(folder: Path, tensors: Mapping[str, Tensor]) -> None:
            write_file(folder / "model.encrypted", InMemory(tensors), read_key(key_file))

        return write


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "acme-weights-encrypted"
