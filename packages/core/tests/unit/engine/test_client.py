from __future__ import annotations

import pytest

from kernelet.engine.async_llm import AsyncLLM
from kernelet.engine.client import EngineClient


def test_a_client_must_have_every_call():
    with pytest.raises(TypeError, match="generate"):
        type("Half", (EngineClient,), {})()


def test_the_asynchronous_engine_is_one():
    assert issubclass(AsyncLLM, EngineClient)
    assert len(EngineClient.__abstractmethods__) <= 12
