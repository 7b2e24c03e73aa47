"""What the test kit holds this logger to: ``kernelet plugins doctor --conformance``."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pytest

from acme_recorder.recorder import Recorder
from kernelet.contracts.stats import StatLogger, StatLoggerOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.stat_logger import StatLoggerCapabilities, StatLoggerSuite

SUMS = ("num_prompt_tokens", "num_output_tokens", "num_cached_tokens", "num_preemptions", "queue_s", "total_s")
QUERY = """
SELECT finish_reason, num_prompt_tokens, num_output_tokens, num_cached_tokens, num_preemptions, queue_s, total_s
FROM requests WHERE engine = ?
"""


def read(logger: StatLogger) -> Mapping[str, float]:
    """What the database says of a logger's engine."""
    assert isinstance(logger, Recorder)
    assert logger.path is not None
    with closing(sqlite3.connect(logger.path)) as connection:
        rows = connection.execute(QUERY, (logger.engine_id,)).fetchall()
    reasons = Counter(f"finished_{row[0]}" for row in rows)
    sums = {name: sum(row[index] for row in rows) for index, name in enumerate(SUMS, start=1)}
    return sums | reasons | {"finished": len(rows)}


class TestRecorder(StatLoggerSuite):
    capabilities: ClassVar[StatLoggerCapabilities] = StatLoggerCapabilities(read=read)

    @pytest.fixture
    def offered(self, tmp_path: Path) -> Offered[StatLoggerOffer]:
        return find_offer("acme_recorder.plugin", StatLoggerOffer, file=str(tmp_path / "requests.sqlite"))


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "acme-recorder"
