from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary
from kernelet_structured_guidance.engine import GuidanceEngine


def test_what_the_library_refuses_is_said_in_one_line():
    engine = GuidanceEngine(Settings(plugin="guidance"), byte_vocabulary())
    with pytest.raises(ValueError, match="guidance cannot compile it: ") as found:
        engine.load(b"start: /[/")
    assert "\n" not in str(found.value)
    deep = "(" * 40 + '"a"' + ")" * 40
    with pytest.raises(ValueError, match=r"^guidance cannot compile it: lark grammar too deeply nested$"):
        engine.load(f"start: {deep}".encode())
