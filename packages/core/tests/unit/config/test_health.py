from __future__ import annotations

import pytest

from kernelet.config import HealthConfig
from kernelet.engine.bootstrap import engine_config
from kernelet.engine.option_sources import resolve_options
from kernelet.errors import ConfigError
from kernelet.testing.null.harness import null_engine_config


def of(**given):
    return engine_config(null_engine_config().model, resolve_options(given, environ={}).options).health


def test_it_comes_from_the_options():
    found = of(engine_silence_timeout=4, engine_step_timeout="60.5")
    assert (found.silence_timeout, found.step_timeout) == (4.0, 60.5)


def test_the_default_is_the_same_in_both_places():
    assert of() == HealthConfig()


@pytest.mark.parametrize("name, value", [("engine_silence_timeout", 1.5), ("engine_step_timeout", float("nan"))])
def test_times_that_no_engine_could_keep_are_refused(name, value):
    with pytest.raises(ConfigError, match=name):
        of(**{name: value})
