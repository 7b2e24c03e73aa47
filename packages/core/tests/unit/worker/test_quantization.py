from __future__ import annotations

import dataclasses

import pytest
from worker_doubles import TinyPlugins, engine_config

from kernelet.contracts.quant import QuantOffer
from kernelet.errors import ConfigError, PluginError, SelectionError, UnsupportedModelError
from kernelet.testing.quantization.reference import Plain4, ReferenceInt8
from kernelet.worker.quantization import make_quantization

OFFER = QuantOffer(name="eight", target="method", online=True)


def config(tmp_path, name, said=None):
    return dataclasses.replace(engine_config(tmp_path).model, quantization=name, quantization_config=said)


def test_none_is_made_unless_one_is_named(tmp_path):
    assert make_quantization(config(tmp_path, None), TinyPlugins(OFFER, method=ReferenceInt8)) is None


def test_the_named_one_is_made(tmp_path):
    model = config(tmp_path, "eight")
    made = make_quantization(model, TinyPlugins(OFFER, method=ReferenceInt8))
    assert isinstance(made, ReferenceInt8)
    assert (made.model, made.config, made.settings.plugin) == (model, None, "tiny")
    with pytest.raises(SelectionError):
        make_quantization(config(tmp_path, "nine"), TinyPlugins(OFFER, method=ReferenceInt8))


def test_a_class_that_is_none_or_fails(tmp_path):
    with pytest.raises(PluginError, match="'eight' is no QuantizationMethod"):
        make_quantization(config(tmp_path, "eight"), TinyPlugins(OFFER, method=dict))

    class Fails(ReferenceInt8):
        def __init__(self, *_):
            raise self.error

    for error, kind, match in (
        (ValueError("odd"), PluginError, "'eight' of plugin 'tiny' cannot be made: ValueError: odd"),
        (ConfigError("group_size is 3"), ConfigError, "^group_size is 3$"),
    ):
        Fails.error = error
        with pytest.raises(kind, match=match):
            make_quantization(config(tmp_path, "eight"), TinyPlugins(OFFER, method=Fails))


def test_a_quantized_checkpoint_has_its_reader(tmp_path):
    plugins = TinyPlugins(QuantOffer(name="plain4", target="method", names=("plain4",)), method=Plain4)
    with pytest.raises(UnsupportedModelError, match="bits in quantization_config"):
        make_quantization(config(tmp_path, "plain4", {"quant_method": "plain4", "bits": 4}), plugins)
    said = {"quant_method": "plain4"}
    assert make_quantization(config(tmp_path, "plain4", said), plugins).config == said
