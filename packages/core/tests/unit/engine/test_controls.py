from __future__ import annotations

import pytest
from echo_control import Echo

from kernelet.engine.controls import Controls, no_controls
from kernelet.errors import ParameterError, PluginError


def ranks(*answers):
    return lambda plugin, name, payload: [*answers] if plugin == "a" else []


def test_all_of_a_plugin_are_called_and_the_first_answers():
    one, two, other = Echo(b"1 "), Echo(b"2 "), Echo()
    controls = Controls([("a", object()), ("a", one), ("b", other), ("a", two)], ranks(b"rank 0", b"rank 1"))
    assert controls("a", "name ", b"payload") == b"1 name payload"
    assert (one.calls, two.calls, other.calls) == ([("name ", b"payload")], [("name ", b"payload")], [])


def test_a_rank_answers_where_nothing_in_the_engine_does():
    assert Controls([("a", object())], ranks(b"rank 0", b"rank 1"))("a", "x", b"") == b"rank 0"


def test_what_is_selected_later_is_called_too():
    selected = []
    controls = Controls(selected, ranks())
    selected.append(("a", Echo()))
    assert controls("a", "x", b"") == b"x"


def test_a_plugin_without_controls_and_an_error_of_one():
    controls = Controls([("a", Echo()), ("b", object())], lambda *_: [])
    with pytest.raises(PluginError, match="'b' takes no control calls: none of what this engine selected"):
        controls("b", "x", b"")
    with pytest.raises(ParameterError, match="no such call"):
        controls("a", "wrong", b"")
    with pytest.raises(PluginError, match="'a' takes no control calls"):
        no_controls("a", "x", b"")


def test_an_answer_is_bytes():
    with pytest.raises(PluginError, match="control of plugin 'a' answered with str, not bytes"):
        Controls([], ranks("text"))("a", "x", b"")
