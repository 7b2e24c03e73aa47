from __future__ import annotations

import importlib

import pytest

from kernelet.engine.structured.targets import COMPILE, MAKE, compile_rules, engine_of, make_engine, setup_of
from kernelet.errors import SelectionError
from kernelet.text.vocabulary import byte_vocabulary, vocabulary_of

from .conftest import DIGITS, held_to


def test_a_setup_makes_the_engine_of_its_vocabulary(kernel):
    setup = setup_of("good", byte_vocabulary())
    engine = engine_of(setup.payload, kernel)
    assert engine.vocabulary == byte_vocabulary()
    assert engine.settings.plugin == "grammar_plugin:PLUGIN"
    (state,) = held_to(DIGITS).states
    assert engine.load(compile_rules(state.rules, engine)).start().accept(list(b"7"))


def test_keys_differ_with_engine_and_vocabulary():
    other = vocabulary_of([b"a"], ())
    keys = {setup_of(name, one).key for name in ("good", "flat") for one in (byte_vocabulary(), other)}
    assert len(keys) == 4
    assert setup_of("good", other).key == setup_of("good", vocabulary_of([b"a"], ())).key


def test_names_of_targets():
    for name, function in ((MAKE, engine_of), (COMPILE, compile_rules)):
        module, _, attribute = name.partition(":")
        assert getattr(importlib.import_module(module), attribute) is function


def test_an_engine_that_there_is_not(kernel):
    with pytest.raises(SelectionError, match="No grammar engine is named"):
        make_engine(kernel, "nobody", byte_vocabulary())
