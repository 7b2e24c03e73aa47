from __future__ import annotations

import pytest

from kernelet.contracts.plugins import Choice, Owned
from kernelet.contracts.quant import QuantOffer
from kernelet.engine.quantization import choose_quantization, read_beside, take_quantization
from kernelet.errors import ConfigError, SelectionError, UnsupportedModelError

OFFERS = (
    QuantOffer(name="eight", target="m:A", online=True),
    QuantOffer(name="format", target="m:B", names=("format", "format_fast"), config_files=("format.json",)),
    QuantOffer(name="both", target="m:C", names=("both",), online=True, config_files=("a.json", "both.json")),
)


def find(name):
    for offer in OFFERS:
        if name in {offer.name, *offer.names}:
            return Choice(chosen=Owned(offer=offer, plugin="p"), reason="named")
    raise SelectionError(f"No quantization method is named {name!r}. Choices: eight, format, both.")


@pytest.mark.parametrize(
    "named, said, chosen",
    [
        (None, None, None),
        ("eight", None, "eight"),
        ("both", None, "both"),
        (None, "format", "format"),
        (None, "FORMAT", "format"),
        (None, "format_fast", "format"),
        ("format_fast", "format", "format"),
        ("both", "both", "both"),
    ],
)
def test_who_stores_the_weights(named, said, chosen):
    assert choose_quantization(named, said and {"quant_method": said}, find) == chosen


@pytest.mark.parametrize(
    "named, said, error, match",
    [
        ("format", None, ConfigError, "--quantization format: it reads checkpoints .* this one is not quantized"),
        ("nine", None, SelectionError, "is named 'nine'"),
        ("eight", "format", ConfigError, "--quantization eight: the checkpoint is quantized with 'format'"),
        ("nine", "format", ConfigError, "--quantization nine: the checkpoint is quantized with 'format'"),
        (None, "eight", ConfigError, "--quantization eight: it quantizes unquantized checkpoints"),
        (None, "../x; y", SelectionError, r"reads: install a package that names '\.\./x; y'"),
        (
            None,
            "other_kind",
            SelectionError,
            "quantized with 'other_kind'.*install kernelet-quant-other-kind, or a package that names 'other_kind'\\.$",
        ),
        ("eight", "other", SelectionError, "quantized with 'other'"),
        (None, 5, UnsupportedModelError, "quant_method in config.json is 5"),
    ],
)
def test_what_cannot_be(named, said, error, match):
    with pytest.raises(error, match=match):
        choose_quantization(named, said and {"quant_method": said}, find)


def test_a_checkpoint_that_does_not_say_its_method():
    assert choose_quantization("format", {"bits": 4}, find) == "format"
    with pytest.raises(UnsupportedModelError, match="has no quant_method, only bits, group: name the method"):
        choose_quantization(None, {"group": 1, "bits": 4}, find)
    with pytest.raises(ConfigError, match="quantizes unquantized checkpoints"):
        choose_quantization("eight", {"bits": 4}, find)


def test_it_is_taken_out_wherever_it_stands():
    said = {"quant_method": "format"}
    assert take_quantization({"a": 1}) == ({"a": 1}, None)
    assert take_quantization({"a": 1, "quantization_config": None}) == ({"a": 1}, None)
    assert take_quantization({"a": 1, "quantization_config": said}) == ({"a": 1}, said)
    nested = {"text_config": {"b": 2, "quantization_config": said}, "quantization_config": said}
    assert take_quantization(nested) == ({"text_config": {"b": 2}}, said)


@pytest.mark.parametrize(
    "config, match",
    [
        ({"quantization_config": "x"}, "is 'x', expected an object"),
        ({"quantization_config": {"a": 1}, "text_config": {"quantization_config": {"a": 2}}}, "several"),
    ],
)
def test_what_it_says_must_be_clear(config, match):
    with pytest.raises(UnsupportedModelError, match=match):
        take_quantization(config)


def test_a_configuration_in_a_file_of_its_own(tmp_path):
    assert read_beside(tmp_path, None, OFFERS) is None
    (tmp_path / "format.json").write_text('{"bits": 4}')
    for named in (None, "format", "format_fast"):
        assert read_beside(tmp_path, named, OFFERS) == {"quant_method": "format", "bits": 4}
    assert read_beside(tmp_path, "both", OFFERS) is None
    (tmp_path / "both.json").write_text('{"quant_method": "both"}')
    assert read_beside(tmp_path, "both", OFFERS) == {"quant_method": "both"}
    with pytest.raises(ConfigError, match=r"several quantization methods: format \(format.json\), both \(both.json\)"):
        read_beside(tmp_path, None, OFFERS)


@pytest.mark.parametrize(
    "content, match", [("[1]", "is no JSON object"), ("{", "cannot be read"), ("", "cannot be read")]
)
def test_a_damaged_file_is_named(tmp_path, content, match):
    (tmp_path / "format.json").write_text(content)
    with pytest.raises(UnsupportedModelError, match=rf"format\.json {match}.* how weights are quantized"):
        read_beside(tmp_path, None, OFFERS)
