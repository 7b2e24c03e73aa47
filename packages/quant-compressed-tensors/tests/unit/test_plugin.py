from __future__ import annotations

from kernelet_quant_compressed_tensors import plugin


def test_offers():
    (offer,) = plugin.kernelet_quantization_methods()
    assert (offer.name, offer.online, offer.names) == ("compressed-tensors", False, ("compressed-tensors",))
    (writer,) = plugin.kernelet_quantizers()
    assert (writer.name, writer.calibrated) == ("int8", False)


def test_options_have_help_and_defaults_among_their_choices():
    (writer,) = plugin.kernelet_quantizers()
    for schema in (plugin.kernelet_options().schema, writer.options):
        assert schema
        for option in schema.values():
            assert option.help
            assert not option.choices or option.default in option.choices
