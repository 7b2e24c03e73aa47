from __future__ import annotations

import importlib

from kernelet.contracts.serving import Server
from kernelet_server_openai.plugin import kernelet_options, kernelet_servers


def test_the_offer_names_a_server():
    (offer,) = kernelet_servers()
    module, _, name = offer.target.partition(":")
    assert issubclass(getattr(importlib.import_module(module), name), Server)


def test_every_option_has_a_flag_and_a_help():
    (offer,) = kernelet_servers()
    schema = kernelet_options().schema
    assert set(offer.flags.values()) == set(schema)
    assert all(option.help for option in schema.values())


def test_no_endpoint_can_hide_a_path(make_app, engine):
    (offer,) = kernelet_servers()
    from kernelet_server_openai.document import document

    firsts = {path.split("/")[1] for path in document(make_app(engine, admin_key="root"))["paths"]}
    assert firsts <= set(offer.paths)
