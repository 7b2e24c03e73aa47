from __future__ import annotations

from kernelet_quant_online import plugin


def test_offers():
    offers = plugin.kernelet_quantization_methods()
    assert [(offer.name, offer.online, offer.names) for offer in offers] == [("int8", True, ()), ("int4", True, ())]


def test_options_have_help_and_defaults_among_their_choices():
    schema = plugin.kernelet_options().schema
    assert set(schema) == {"group_size", "zero_points", "activations", "exclude", "head", "embedding"}
    for option in schema.values():
        assert option.help
        assert not option.choices or option.default in option.choices
