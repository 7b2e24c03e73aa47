from __future__ import annotations

import sys

import pytest

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.testing.attention.varlen import attend_varlen
from kernelet_attention_flash.library import MODULES, check_2, check_3, check_4, load_library
from kernelet_attention_flash.stand_in import stand_ins


@pytest.mark.parametrize("generation", MODULES)
def test_what_is_missing_is_said(generation, monkeypatch):
    monkeypatch.setitem(sys.modules, MODULES[generation], None)
    with pytest.raises(ConfigError, match=rf"FlashAttention {generation} cannot be imported .*: install flash-attn"):
        load_library(generation)


def test_checks_import_their_generation():
    with stand_ins(attend_varlen):
        for check in (check_2, check_3, check_4):
            check(Settings(plugin="attention-flash"))
