from __future__ import annotations

from kernelet_quant_gguf import plugin
from kernelet_quant_gguf.quantizer import WRITTEN


def test_files_are_models_a_format_and_a_method():
    (source,) = plugin.kernelet_model_sources()
    (reader,) = plugin.kernelet_weight_formats()
    (method,) = plugin.kernelet_quantization_methods()
    assert source.patterns == reader.patterns == ("*.gguf",)
    assert not source.models
    assert (method.name, method.names, method.online) == ("gguf", ("gguf",), False)


def test_options_have_help_and_defaults_among_their_choices():
    (writer,) = plugin.kernelet_quantizers()
    assert writer.options["type"].choices == WRITTEN
    assert not writer.calibrated
    for option in [*plugin.kernelet_options().schema.values(), *writer.options.values()]:
        assert option.help
        assert option.default in option.choices
