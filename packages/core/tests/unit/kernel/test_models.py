from __future__ import annotations

from pathlib import Path

import pytest

from kernelet.contracts.model import ModelArchitectureOffer, ModelInfo, ModelSource, ModelSourceOffer
from kernelet.contracts.offer import Settings
from kernelet.contracts.plugins import Owned
from kernelet.errors import PluginError, UnsupportedModelError
from kernelet.kernel.models import architecture, model_source


class Source(ModelSource):
    def resolve(self, name):
        return Path("/models") / name


def source(name, *models, target="m:Source", patterns=()):
    offer = ModelSourceOffer(name=name, target=target, models=dict.fromkeys(models, ""), patterns=patterns)
    return Owned(offer=offer, plugin=f"plugin-{name}")


def settings(plugin):
    return Settings(plugin=plugin)


def find(name, *offers, cls=Source):
    return model_source(name, offers, lambda owned: cls, settings)


def test_the_source_that_offers_the_name_is_made_with_its_plugins_settings():
    found = find("y1", source("x", "x1", "x2"), source("y", "y1"))
    assert found.settings.plugin == "plugin-y"
    assert found.resolve("y1") == Path("/models/y1")


def test_nobody_knows_the_name():
    assert find("z", source("x", "x1")) is None


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("m.bin", "m.onnx", "M.BIN"):
        (tmp_path / name).touch()
    (tmp_path / "d.bin").mkdir()
    return tmp_path


def test_a_file_is_a_model_of_the_source_whose_pattern_matches(files):
    sources = source("x", "x1"), source("y", patterns=("*.onnx", "*.bin"))
    for name in ("m.bin", "./m.onnx", str(files / "m.bin"), "~/m.bin", "M.BIN"):
        assert find(name, *sources).settings.plugin == "plugin-y"
    for name in ("no.bin", "d.bin", "m.txt", "bin"):
        assert find(name, *sources) is None


def test_a_name_comes_before_a_file(files):
    assert find("m.bin", source("y", patterns=("*.bin",)), source("x", "m.bin")).settings.plugin == "plugin-x"


class Unrelated:
    def __init__(self, settings): ...


class Broken(Source):
    def __init__(self, settings):
        raise OSError("no disk")


@pytest.mark.parametrize(
    "cls, message", [(Broken, "OSError: no disk"), (Unrelated, "is no kernelet.contracts.model.ModelSource")]
)
def test_a_source_that_cannot_be_made(cls, message):
    with pytest.raises(PluginError, match=message) as caught:
        find("x1", source("x", "x1"), cls=cls)
    assert "'plugin-x'" in str(caught.value)


INFO = ModelInfo(vocab_size=1, max_model_len=2, num_layers=3, hidden_size=4)


def served(name):
    return Owned(offer=ModelArchitectureOffer(name=name, target="m:M", describe="m:describe"), plugin="p")


def describe(names, *offers, function=lambda config: INFO):
    return architecture(names, {"architectures": names}, offers, lambda owned, target: function, ())


def test_the_first_name_that_is_served():
    offers = served("B"), served("A")
    assert describe(["X", "A", "B"], *offers) == (offers[1], INFO)


def test_the_description_gets_the_configuration():
    seen = []
    describe(["A"], served("A"), function=lambda config: seen.append(config) or INFO)
    assert seen == [{"architectures": ["A"]}]


@pytest.mark.parametrize(
    "names, named", [(["LamaModel"], "LamaModel (did you mean LimaModel?)"), ([], "config.json names none")]
)
def test_nobody_serves_it(names, named):
    with pytest.raises(UnsupportedModelError, match="1 are served") as caught:
        describe(names, served("LimaModel"))
    assert named in str(caught.value)


def raises(error):
    def function(config):
        raise error

    return function


def test_a_refusal_comes_through():
    with pytest.raises(UnsupportedModelError, match="rope_scaling"):
        describe(["A"], served("A"), function=raises(UnsupportedModelError("rope_scaling")))


@pytest.mark.parametrize("function", [raises(KeyError("hidden_size")), lambda config: {}])
def test_a_description_that_fails_names_the_plugin(function):
    with pytest.raises(PluginError, match="plugin 'p'"):
        describe(["A"], served("A"), function=function)
