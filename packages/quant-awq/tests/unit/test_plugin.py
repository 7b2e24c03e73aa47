from __future__ import annotations

from kernelet_quant_awq import plugin


def test_offers():
    (reader,), (writer,) = plugin.kernelet_quantization_methods(), plugin.kernelet_quantizers()
    assert (reader.name, reader.names, reader.online) == ("awq", ("awq", "awq_marlin"), False)
    assert reader.config_files == ("quant_config.json",)
    assert (writer.name, writer.calibrated) == ("awq", True)
    assert all(option.help for option in writer.options.values())
