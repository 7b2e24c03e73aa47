from __future__ import annotations

import gc
import weakref

import pytest

from kernelet.engine.async_llm import AsyncLLM
from kernelet.engine.llm import LLM
from kernelet.engine.option_sources import resolve_options
from kernelet.errors import ConfigError, EngineDeadError


@pytest.mark.parametrize("kind", [LLM, AsyncLLM])
def test_both_start_from_options_and_from_what_was_read_before(kind, null_folder, null_options):
    from_arguments = kind(str(null_folder), **null_options)
    assert from_arguments.config.model.path == str(null_folder)
    from_arguments._finalizer()
    with pytest.raises(ConfigError, match="no_such_option"):
        kind.from_options(str(null_folder), resolve_options({"no_such_option": 1}))


@pytest.mark.parametrize("kind", [LLM, AsyncLLM])
def test_an_engine_that_nobody_holds_stops(kind, null_folder, null_options):
    engine = kind(str(null_folder), **null_options)
    client, gone = engine._frontend.client, weakref.ref(engine)
    del engine
    gc.collect()
    assert gone() is None
    with pytest.raises(EngineDeadError):
        client.check_health()
