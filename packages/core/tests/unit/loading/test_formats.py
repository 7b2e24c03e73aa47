from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from safetensors.torch import save_file

from kernelet.contracts.model import WeightFormatOffer
from kernelet.contracts.plugins import Choice, Owned
from kernelet.errors import PluginError, SelectionError, WeightsError
from kernelet.loading.formats import open_checkpoint
from kernelet.loading.safetensors import SafetensorsReader


class Other(SafetensorsReader):
    pass


class Plugins:
    targets: ClassVar = {"a:Reader": SafetensorsReader, "b:Reader": Other, "c:Reader": lambda _folder: object()}

    def __init__(self, *offers):
        self.owned = [Owned(offer=offer, plugin="p") for offer in offers]

    def offers(self, kind):
        assert kind is WeightFormatOffer
        return self.owned

    def select(self, kind, name=None):
        for owned in self.owned:
            if owned.offer.name == name:
                return Choice(chosen=owned, reason="named")
        raise SelectionError(name)

    def load(self, owned, target=None):
        return self.targets[owned.offer.target]


SAFE = WeightFormatOffer(name="safetensors", target="a:Reader", patterns=("*.safetensors",))
BETTER = WeightFormatOffer(name="better", target="b:Reader", patterns=("*.none", "*.safetensors"), priority=5)
BROKEN = WeightFormatOffer(name="broken", target="c:Reader", patterns=("*.bin",))


@pytest.fixture
def folder(tmp_path):
    save_file({"a": torch.ones(1)}, tmp_path / "model.safetensors")
    return tmp_path


def test_the_folder_decides(folder):
    assert open_checkpoint(Plugins(BROKEN, SAFE), folder).names() == ["a"]


def test_the_higher_priority_wins_among_those_that_fit(folder):
    assert type(open_checkpoint(Plugins(SAFE, BETTER), folder)) is Other


def test_a_named_format_is_taken(folder):
    assert type(open_checkpoint(Plugins(SAFE, BETTER), folder, "safetensors")) is SafetensorsReader
    with pytest.raises(SelectionError, match="absent"):
        open_checkpoint(Plugins(SAFE), folder, "absent")


def test_what_was_looked_for_is_listed(tmp_path):
    with pytest.raises(WeightsError, match=r"broken \(\*\.bin\), safetensors \(\*\.safetensors\)"):
        open_checkpoint(Plugins(SAFE, BROKEN), tmp_path)


def test_a_target_that_is_no_reader_is_named(folder):
    with pytest.raises(PluginError, match="c:Reader"):
        open_checkpoint(Plugins(BROKEN), folder, "broken")
