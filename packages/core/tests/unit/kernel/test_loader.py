from __future__ import annotations

import json

import pytest

from kernelet import builtin
from kernelet.errors import PluginError
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.loader import builtin_candidate, handed_candidates, import_plugin


class Mine:
    name = "mine"


class Unnamed: ...


def test_a_module():
    assert import_plugin(Candidate(name="x", entry_point="json.decoder", distribution="d")) is json.decoder


def test_an_object_of_a_module_and_a_class_of_one():
    assert import_plugin(Candidate(name="x", entry_point="json:dumps", distribution="d")) is json.dumps
    made = import_plugin(Candidate(name="x", entry_point="json:JSONDecoder", distribution="d"))
    assert isinstance(made, json.JSONDecoder)


def test_what_the_module_raises_comes_through(distributions):
    (distributions.folder / "broken_plugin.py").write_text("raise SystemExit(4)")
    with pytest.raises(SystemExit):
        import_plugin(Candidate(name="x", entry_point="broken_plugin", distribution="d"))


def test_the_core_comes_first_and_is_a_plugin():
    candidate = builtin_candidate()
    assert (candidate.name, candidate.distribution) == ("core", "kernelet-core")
    assert import_plugin(candidate) is builtin


def test_handed_over():
    mine, unnamed = Mine(), Unnamed()
    first, second, third, fourth = handed_candidates([mine, unnamed, json, "json:JSONDecoder"])
    assert (first.name, second.name, third.name, fourth.name) == ("mine", "Unnamed", "json", "json:JSONDecoder")
    assert import_plugin(first) is mine
    assert import_plugin(third) is json
    assert isinstance(import_plugin(fourth), json.JSONDecoder)
    assert all(candidate.handed for candidate in (first, second, third, fourth))


@pytest.mark.parametrize("plugin, message", [(Mine, "pass an instance, Mine()"), ("json", "package.module:Class")])
def test_what_cannot_be_handed_over(plugin, message):
    with pytest.raises(PluginError) as caught:
        handed_candidates([plugin])
    assert message in str(caught.value)
