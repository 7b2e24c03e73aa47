from __future__ import annotations

import pytest

from kernelet.scheduler.kv.quorum import Quorum


def test_all_must_tell_and_the_least_counts():
    quorum = Quorum(3)
    assert [quorum.tell(0, 5), quorum.tell(0, 1), quorum.tell(2, 4), quorum.tell(1, 9)] == [False, False, False, True]
    assert quorum.least == 4
    assert not quorum.tell(1, 0), "nobody is the last twice"


def test_nobody_has_told():
    with pytest.raises(ValueError, match="empty"):
        _ = Quorum(1).least
