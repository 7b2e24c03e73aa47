from __future__ import annotations

import pytest

from kernelet.testing.verdict import ConformanceError, check


def test_says_the_sentence():
    check([0], "not said")
    with pytest.raises(ConformanceError, match=r"^it must not be empty$"):
        check([], "it must not be empty")
