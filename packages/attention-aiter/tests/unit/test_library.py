from __future__ import annotations

import sys
from types import ModuleType

import pytest

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.testing.attention.varlen import attend_varlen
from kernelet_attention_aiter.library import check, load_library
from kernelet_attention_aiter.stand_in import stand_in


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiter", None)
    with pytest.raises(ConfigError, match=r"AITER cannot be imported .*install"):
        load_library()


def test_the_check_imports_it():
    with stand_in(attend_varlen):
        check(Settings(plugin="attention-aiter"))


def test_another_library_of_that_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiter", ModuleType("aiter"))
    with pytest.raises(ConfigError, match="has no mha_batch_prefill_func"):
        load_library()
