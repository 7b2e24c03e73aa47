"""One engine for all tests, on the null platform, so that each next request proves that the one before did no harm."""

from __future__ import annotations

import os

import pytest

from kernelet import LLM
from kernelet.testing.null.model import null_config, write_model

CONTEXT = 64


@pytest.fixture(scope="module")
def llm(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("KERNELET_"):
                patch.delenv(name)
        folder = write_model(tmp_path_factory.mktemp("model"), null_config(max_model_len=CONTEXT))
        with LLM(str(folder), plugins=["core", "kernelet.testing.null:plugin"], platform="null") as llm:
            yield llm
