from __future__ import annotations

from kernelet_quant_gptq import plugin


def test_offers():
    (reader,), (writer,) = plugin.kernelet_quantization_methods(), plugin.kernelet_quantizers()
    assert (reader.name, reader.names, reader.online) == ("gptq", ("gptq", "gptq_marlin"), False)
    assert reader.config_files == ("quantize_config.json",)
    assert (writer.name, writer.calibrated) == ("gptq", True)
    assert all(option.help for option in writer.options.values())
