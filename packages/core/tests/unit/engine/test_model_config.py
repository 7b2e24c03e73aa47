from __future__ import annotations

import json

import pytest

from kernelet.contracts.model import ModelArchitectureOffer, ModelInfo
from kernelet.contracts.platform import Capabilities
from kernelet.contracts.plugins import Choice, Owned
from kernelet.contracts.quant import QuantOffer
from kernelet.engine.model_config import (
    architecture_names,
    build_model_config,
    choose_dtype,
    choose_max_model_len,
    read_hf_config,
)
from kernelet.engine.options import EngineOptions
from kernelet.errors import ConfigError, ModelNotFoundError, SelectionError, UnsupportedModelError

CAPABILITIES = Capabilities(device_type="d", dtypes=("bfloat16", "float32"), memory_bytes=1)
INFO = ModelInfo(vocab_size=10, max_model_len=64, num_layers=2, hidden_size=4, dtype="float32")


def found(info=INFO):
    offer = ModelArchitectureOffer(name="A", target="m:A", describe="m:describe")
    return lambda names, hf_config: (Owned(offer=offer, plugin="p"), info)


def no_method(name):
    raise SelectionError(f"nobody offers {name}")


@pytest.mark.parametrize(
    "asked, stated, expected",
    [
        ("auto", "float32", "float32"),
        ("auto", "bfloat16", "bfloat16"),
        ("auto", "float16", "bfloat16"),
        ("auto", "", "bfloat16"),
        ("float32", "bfloat16", "float32"),
    ],
)
def test_dtype(asked, stated, expected):
    assert choose_dtype(asked, stated, CAPABILITIES) == expected


def test_a_dtype_that_the_platform_lacks_is_an_error_only_if_it_was_asked_for():
    with pytest.raises(ConfigError, match="--dtype float64: the platform computes in bfloat16, float32"):
        choose_dtype("float64", "float32", CAPABILITIES)


def test_context():
    assert choose_max_model_len(None, 64) == 64
    assert choose_max_model_len(32, 64) == 32
    with pytest.raises(ConfigError, match="made for 64 tokens"):
        choose_max_model_len(65, 64)


@pytest.mark.parametrize("stated, expected", [(["A", "B"], ["A", "B"]), (None, []), ("A", []), (["A", 5], ["A"])])
def test_architecture_names(stated, expected):
    assert architecture_names({"architectures": stated}) == expected


@pytest.mark.parametrize("content", ["", "[]", "{", "\xff"])
def test_a_damaged_configuration_is_an_error_that_names_the_file(tmp_path, content):
    (tmp_path / "config.json").write_text(content, encoding="latin-1")
    with pytest.raises(ModelNotFoundError, match=r"config\.json"):
        read_hf_config(tmp_path)


def test_everything_that_is_known_without_weights(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["A"], "x": 1}))
    options = EngineOptions(max_model_len=32, load_seed=7)
    config = build_model_config("name", tmp_path, options, CAPABILITIES, found(), no_method)
    assert (config.model, config.path, config.architecture) == ("name", str(tmp_path), "A")
    assert (config.dtype, config.vocab_size, config.max_model_len, config.num_layers) == ("float32", 10, 32, 2)
    assert config.hf_config["x"] == 1
    assert config.seed == 7


def test_sizes_that_cannot_be_are_named(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    info = ModelInfo(vocab_size=0, max_model_len=64, num_layers=2, hidden_size=4)
    with pytest.raises(UnsupportedModelError, match="vocab_size = 0"):
        build_model_config("name", tmp_path, EngineOptions(), CAPABILITIES, found(info), no_method)


def test_what_the_checkpoint_says_of_quantization_is_kept_apart(tmp_path):
    offer = QuantOffer(name="format", target="m:A", names=("stored-so",))
    said = {"quant_method": "stored-so", "bits": 4}
    (tmp_path / "config.json").write_text(json.dumps({"x": 1, "quantization_config": said}))
    choice = Choice(chosen=Owned(offer=offer, plugin="p"), reason="named")
    config = build_model_config("name", tmp_path, EngineOptions(), CAPABILITIES, found(), lambda name: choice)
    assert (config.quantization, config.quantization_config) == ("format", said)
    assert config.hf_config == {"x": 1}


def test_what_a_file_of_its_own_says_of_quantization(tmp_path):
    offer = QuantOffer(name="format", target="m:A", names=("stored-so",), config_files=("how.json",))
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "how.json").write_text('{"bits": 4}')
    choice = Choice(chosen=Owned(offer=offer, plugin="p"), reason="named")
    config = build_model_config("name", tmp_path, EngineOptions(), CAPABILITIES, found(), lambda name: choice, [offer])
    assert (config.quantization, config.quantization_config) == ("format", {"quant_method": "format", "bits": 4})
