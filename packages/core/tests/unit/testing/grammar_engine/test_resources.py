from __future__ import annotations

import pytest

from kernelet.testing.grammar_engine.resources import grown, resident


@pytest.mark.long
def test_what_is_kept_is_noticed():
    kept = []
    assert grown(lambda number: kept.append(bytes(1000)))
    assert not grown(lambda number: bytes(1000))
    assert not grown(lambda number: kept.clear() or kept.append(bytes(1000)))


def test_the_process_has_memory():
    assert resident() > 1 << 20
