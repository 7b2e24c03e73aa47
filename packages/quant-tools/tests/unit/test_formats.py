from __future__ import annotations

import plain_writers
import pytest

from kernelet.config import PluginsConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantizerOffer
from kernelet.errors import ConfigError, PluginError, SelectionError
from kernelet.kernel import Kernel
from kernelet_quant_tools.formats import find_format, make_quantizer, read_options

DEFAULTS = {"bits": 4, "ratio": 0.5, "symmetric": True, "mode": "a"}


@pytest.fixture(scope="module")
def kernel():
    return Kernel.boot(PluginsConfig(), plugins=[plain_writers.plugin], search_path=[])


@pytest.fixture
def offer(kernel):
    return find_format(kernel, "plain").offer


def test_formats_are_those_that_are_offered(kernel):
    assert find_format(kernel, "plain").plugin == "plain"
    with pytest.raises(SelectionError, match=r"install kernelet-quant-awq\. Formats: calibrated \(plain\), ") as raised:
        find_format(kernel, "awq")
    assert "failing (plain)" in str(raised.value)
    with pytest.raises(SelectionError, match=r"install kernelet-quant-compressed-tensors\."):
        find_format(kernel, "int8")
    with pytest.raises(SelectionError, match=r"install kernelet-quant-my-own, or a package that writes it\."):
        find_format(kernel, "My_Own")


def test_options_are_typed(offer):
    assert read_options(offer, []) == DEFAULTS
    given = ["bits=8", "ratio=2", "symmetric=no", "mode=b"]
    assert read_options(offer, given) == {"bits": 8, "ratio": 2.0, "symmetric": False, "mode": "b"}


@pytest.mark.parametrize(
    "given, message",
    [
        (["bits"], "--option bits: write KEY=VALUE"),
        (["bits=4", "bits=8"], "--option bits is given twice"),
        (["bits=x"], "--option bits=x: expected a whole number"),
        (["bits=4.5"], "expected a whole number"),
        (["ratio=nan"], "--option ratio=nan: expected a number"),
        (["symmetric=maybe"], "expected true or false"),
        (["mode=c"], "expected one of a, b"),
        (["group=4"], r"--option group: the format plain has no such option\. It has: bits \(bits of a weight\), mode"),
    ],
)
def test_wrong_options_are_named(offer, given, message):
    with pytest.raises(ConfigError, match=message):
        read_options(offer, given)


def test_a_writer_is_made_with_its_options(kernel):
    made = make_quantizer(kernel, find_format(kernel, "plain"), ["bits=2"])
    assert isinstance(made, plain_writers.Plain4Writer)
    assert made.settings == Settings(plugin="plain", values={**DEFAULTS, "bits": 2})


def test_what_is_no_writer_is_the_plugins_fault(kernel, monkeypatch):
    with pytest.raises(PluginError, match="builtins:dict of offer 'wrong' is no Quantizer"):
        make_quantizer(kernel, find_format(kernel, "wrong"), [])

    def fail(self, settings):
        raise RuntimeError("no disk")

    monkeypatch.setattr(plain_writers.Plain4Writer, "__init__", fail)
    with pytest.raises(PluginError, match="'plain' of plugin 'plain' cannot be made: RuntimeError: no disk"):
        make_quantizer(kernel, find_format(kernel, "plain"), [])


def test_an_offer_needs_no_options():
    assert read_options(QuantizerOffer(name="x", target="a:B"), []) == {}
