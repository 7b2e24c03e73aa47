from __future__ import annotations

from kernelet_quant_fp8 import plugin


def test_offers():
    (offer,) = plugin.kernelet_quantization_methods()
    assert (offer.name, offer.online, offer.names) == ("fp8", False, ("fp8",))
    (writer,) = plugin.kernelet_quantizers()
    assert (writer.name, writer.calibrated) == ("fp8", False)


def test_options_have_help_and_defaults_among_their_choices():
    (writer,) = plugin.kernelet_quantizers()
    for schema in (plugin.kernelet_options().schema, writer.options):
        assert schema
        for option in schema.values():
            assert option.help
            assert option.default in option.choices
