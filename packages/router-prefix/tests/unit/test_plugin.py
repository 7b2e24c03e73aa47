from __future__ import annotations

from dataclasses import fields

from kernelet_router_prefix.plugin import kernelet_options
from kernelet_router_prefix.settings import RouterSettings


def test_every_option_is_a_setting_with_the_same_default():
    schema = kernelet_options().schema
    defaults = {field.name: field.default for field in fields(RouterSettings) if field.name != "engines"}
    assert {key: option.default for key, option in schema.items()} == defaults
