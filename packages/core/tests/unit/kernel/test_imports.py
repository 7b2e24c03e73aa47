from __future__ import annotations

import collections.abc
import json.decoder

import pytest

from kernelet.errors import PluginError
from kernelet.kernel.imports import import_string, is_import_string


@pytest.mark.parametrize(
    "text, fits",
    [
        ("a:B", True),
        ("a.b_c.d:E.f", True),
        ("a", False),
        ("a:", False),
        (":B", False),
        ("a b:C", False),
        ("a:B:C", False),
        ("1a:B", False),
        ("a..b:C", False),
        ("", False),
        (None, False),
    ],
)
def test_form(text, fits):
    assert is_import_string(text) == fits


def test_import():
    assert import_string("json.decoder:JSONDecoder") is json.decoder.JSONDecoder
    assert import_string("collections.abc:Mapping.get") is collections.abc.Mapping.get


def test_wrong_form():
    with pytest.raises(PluginError, match=r"'json.decoder' is not of the form package.module:Class"):
        import_string("json.decoder")


def test_missing_names_raise_what_python_raises():
    with pytest.raises(AttributeError):
        import_string("json:nothing")
    with pytest.raises(ModuleNotFoundError):
        import_string("not_a_module_here:x")
