"""Whole engines run in ``tests/engine/test_structured.py``."""

from __future__ import annotations

import dataclasses
import threading
from types import SimpleNamespace

import pytest

from kernelet.config.structured import ConstraintLimits, StructuredConfig
from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.engine.options import EngineOptions
from kernelet.engine.structured import setup
from kernelet.engine.structured.setup import ModelTokens, make_grammars, make_structured, structured_config
from kernelet.errors import ConfigError, ParameterError, SelectionError
from kernelet.testing.null.harness import null_engine_config
from kernelet.testing.null.model import null_config, write_model
from kernelet.text.tokenizer import Tokenizer


def test_the_options_defaults_are_the_configurations():
    assert structured_config(EngineOptions()) == StructuredConfig()


def test_every_option_sets_something():
    given = {
        "structured_outputs_backend": "x",
        "structured_allowed_backends": ("x", "y"),
        "structured_fallback": "validate",
        "structured_disable_any_whitespace": True,
        "structured_disable_additional_properties": True,
        "structured_in_reasoning": True,
        "structured_jump_forward": False,
        "structured_compile_inline": True,
    }
    names = [field.name for field in dataclasses.fields(EngineOptions) if field.name.startswith("structured_")]
    for name in names:
        value = given.get(name, 77)
        found = structured_config(dataclasses.replace(EngineOptions(), **{name: value}))
        flat = {**dataclasses.asdict(found), **dataclasses.asdict(found.limits)}
        default = {**dataclasses.asdict(StructuredConfig()), **dataclasses.asdict(ConstraintLimits())}
        changed = {key for key in flat if flat[key] != default[key] and key != "limits"}
        assert len(changed) == 1, name
        assert flat[changed.pop()] == value


def test_auto_is_no_name():
    assert structured_config(EngineOptions(structured_outputs_backend="auto")).backend is None


def test_a_backend_that_there_is_not_stops_the_start(kernel):
    with pytest.raises(SelectionError, match="No grammar engine is named 'nobody'"):
        make_structured(StructuredConfig(backend="nobody"), kernel, None, "")
    make_structured(StructuredConfig(backend="good"), kernel, None, "").close()


@pytest.mark.parametrize(
    "config, error, says",
    [
        ({"allowed_backends": ("good", "nobody")}, SelectionError, "No grammar engine is named 'nobody'"),
        ({"allowed_backends": ()}, ConfigError, "--structured-allowed-backends names no grammar engine"),
        (
            {"allowed_backends": ("good",), "backend": "flat"},
            ConfigError,
            "--structured-allowed-backends does not name 'flat'",
        ),
    ],
)
def test_what_is_allowed_is_installed_and_holds_the_operators_choice(kernel, config, error, says):
    with pytest.raises(error, match=says):
        make_structured(StructuredConfig(**config), kernel, None, "")
    make_structured(StructuredConfig(allowed_backends=("good",), backend="good"), kernel, None, "").close()


def test_checking_texts_needs_a_library(kernel, monkeypatch):
    monkeypatch.setattr(setup, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install kernelet-core\[validate\]"):
        make_structured(StructuredConfig(fallback="validate"), kernel, None, "")


def test_without_engines_it_says_what_to_install():
    plugins = SimpleNamespace(offers=lambda kind: [])
    with pytest.raises(ParameterError, match="no grammar engine is installed: install this"):
        make_structured(StructuredConfig(), plugins, None, "install this").prepare(StructuredOutputsParams(regex="a"))


def test_tokens_are_the_models(tmp_path):
    folder = write_model(tmp_path, null_config())
    model = dataclasses.replace(null_engine_config().model, path=str(folder), vocab_size=300)
    read = []
    tokens = ModelTokens(model, lambda model: read.append(model) or Tokenizer.from_folder(model.path))
    found = tokens.vocabulary()
    assert len(found.token_bytes) == 300
    assert b"".join(found.token_bytes[token] for token in tokens.encode("aé")) == "aé".encode()
    assert read == [model]
    with pytest.raises(ParameterError, match="has no tokenizer"):
        ModelTokens(model, lambda _: None).vocabulary()


def test_nothing_is_started_before_a_request_comes(kernel):
    def fail(*_):
        raise AssertionError("not yet")

    grammars = make_grammars(null_engine_config(), kernel, fail, fail)
    assert not grammars.has_news
    grammars.close()


def test_an_engine_that_is_named_is_brought_up_at_once(kernel):
    asked = threading.Event()

    def load_tokenizer(_):
        asked.set()

    config = null_engine_config()
    config = dataclasses.replace(config, structured=dataclasses.replace(config.structured, backend="good"))
    grammars = make_grammars(config, kernel, lambda: None, load_tokenizer)
    assert asked.wait(60)
    grammars.close()
