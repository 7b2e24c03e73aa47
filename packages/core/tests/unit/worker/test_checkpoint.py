from __future__ import annotations

import dataclasses

import pytest
from worker_doubles import TinyPlugins, TinyReader, engine_config

from kernelet.contracts.model import WeightFormatOffer
from kernelet.errors import PluginError, WeightsError
from kernelet.worker.checkpoint import open_checkpoint


@pytest.fixture
def plugins():
    return TinyPlugins(WeightFormatOffer(name="other", target="reader", patterns=("*.other", "*.more")))


def config(folder, load_format="auto"):
    return dataclasses.replace(engine_config(folder).model, load_format=load_format)


def test_the_folder_decides(tmp_path, plugins):
    (tmp_path / "a.more").touch()
    assert isinstance(open_checkpoint(config(tmp_path), plugins), TinyReader)


def test_no_weights_and_several_formats(tmp_path, plugins):
    with pytest.raises(WeightsError, match=r"no weights in a format that is installed: tiny \(\*\.tiny\), other"):
        open_checkpoint(config(tmp_path), plugins)
    (tmp_path / "a.more").touch()
    (tmp_path / "a.tiny").touch()
    with pytest.raises(WeightsError, match=r"several formats.*--load-format"):
        open_checkpoint(config(tmp_path), plugins)
    assert open_checkpoint(config(tmp_path, "tiny"), plugins)


def test_a_reader_is_given_its_plugins_options(tmp_path):
    given = []

    class Keyed(TinyReader):
        @classmethod
        def open(cls, folder, settings):
            given.append((folder, settings.plugin))
            return cls(folder)

    (tmp_path / "a.tiny").touch()
    assert isinstance(open_checkpoint(config(tmp_path), TinyPlugins(reader=Keyed)), Keyed)
    assert given == [(tmp_path, "tiny")]


class OpensNothing(TinyReader):
    @classmethod
    def open(cls, folder, settings):
        return None


@pytest.mark.parametrize("target", [lambda folder: object(), dict, OpensNothing], ids=["function", "class", "none"])
def test_wrong_target(tmp_path, target):
    (tmp_path / "a.tiny").touch()
    with pytest.raises(PluginError, match="is no WeightReader"):
        open_checkpoint(config(tmp_path), TinyPlugins(reader=target))
