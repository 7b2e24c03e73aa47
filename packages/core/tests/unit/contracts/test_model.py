from __future__ import annotations

from pathlib import Path

import pytest

from kernelet.contracts.model import (
    AttentionLayer,
    Hidden,
    ModelInfo,
    ModelSource,
    StepInputs,
    WeightReader,
)
from kernelet.contracts.offer import Settings


def test_a_source_has_its_settings_and_resolves_names():
    class Folder(ModelSource):
        def resolve(self, name):
            return Path("/models") / name

    source = Folder(Settings(plugin="p"))
    assert source.settings.plugin == "p"
    assert source.resolve("m") == Path("/models/m")
    with pytest.raises(TypeError, match="abstract"):
        ModelSource(Settings(plugin="p"))


def test_what_a_reader_must_have():
    assert WeightReader.__abstractmethods__ == {"__init__", "names", "shape", "read", "nbytes"}


def test_a_reader_is_opened_with_its_plugins_options():
    class Plain(WeightReader):
        def __init__(self, folder):
            self.folder = folder

        names = shape = read = nbytes = None

    class Keyed(Plain):
        @classmethod
        def open(cls, folder, settings):
            return cls(folder / settings["below"])

    settings = Settings(plugin="p", values={"below": "b"})
    assert Plain.open(Path("a"), settings).folder == Path("a")
    assert Keyed.open(Path("a"), settings).folder == Path("a/b")


def test_inputs_without_extras():
    inputs = StepInputs(token_ids=[1], positions=[0], attention={})
    assert (inputs.embeddings, inputs.adapter_slots, inputs.intermediate, inputs.taps) == (
        None,
        None,
        None,
        frozenset(),
    )


def test_taps_are_not_shared():
    assert Hidden(states=1).taps is not Hidden(states=1).taps


def test_layers_that_own_a_cache_are_recognized():
    class Layer:
        name = "l"
        spec = None

        def cache_spec(self): ...
        def bind(self, attention, cache, group): ...

    assert isinstance(Layer(), AttentionLayer)
    assert not isinstance(object(), AttentionLayer)


def test_info_states_what_is_optional():
    info = ModelInfo(vocab_size=1, max_model_len=2, num_layers=3, hidden_size=4)
    assert (info.dtype, info.row) == ("", "")
