"""Every finished request is a row, whatever engines, threads and disks do."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from contextlib import closing

import pytest
from acme_recorder import recorder
from acme_recorder.recorder import Recorder

from kernelet.contracts.offer import Settings
from kernelet.contracts.stats import EngineInfo, FinishedRequest, StepStats
from kernelet.errors import ConfigError, PluginError


def engine(model="m", index=0):
    return EngineInfo(
        model=model,
        index=index,
        architecture="A",
        dtype="float32",
        max_model_len=64,
        platform="null",
        max_num_seqs=4,
        max_num_batched_tokens=64,
        enable_prefix_caching=True,
        caches=(),
    )


def start(file, **values):
    settings = Settings(plugin="acme-recorder", values={"file": None if file is None else str(file)})
    return Recorder(settings, engine(**values))


def finished(name, /, **values):
    made = {
        "request_id": name,
        "finish_reason": "stop",
        "num_prompt_tokens": 5,
        "num_output_tokens": 7,
        "num_cached_tokens": 4,
        "num_preemptions": 1,
        "queue_s": 0.25,
        "first_token_s": 0.5,
        "total_s": 2.0,
    }
    return FinishedRequest(**made | values)


def query(file, text):
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(text).fetchall()


def test_a_row_has_all_of_a_record(tmp_path):
    file, before = tmp_path / "r.sqlite", time.time()
    one = start(file, model="smol", index=3)
    one.record_finished(finished("a", first_token_s=None, finish_reason="abort"))
    one.close()
    ((started, *facts),) = query(file, "SELECT started, model, number, architecture, dtype, platform FROM engines")
    assert facts == ["smol", 3, "A", "float32", "null"]
    ((identity, request, moment, *rest),) = query(file, "SELECT * FROM requests")
    assert (identity, request) == (1, "a")
    assert before <= started <= moment <= time.time()
    assert rest == ["abort", 5, 7, 4, 1, 0.25, None, 2.0]


def test_a_later_start_adds_and_two_engines_write_at_once(tmp_path):
    file = tmp_path / "r.sqlite"
    for model in ("first", "second"):
        pair = [start(file, model=model, index=index) for index in (0, 1)]
        threads = [
            threading.Thread(target=lambda one=one: [one.record_finished(finished(str(i))) for i in range(200)])
            for one in pair
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in pair:
            one.log()
            one.close()
            one.close()
    rows = query(
        file, "SELECT model, number, count(DISTINCT request) FROM requests JOIN engines ON engine = id GROUP BY 1, 2"
    )
    assert rows == [(model, index, 200) for model in ("first", "second") for index in (0, 1)]


def test_rows_are_there_before_close(tmp_path):
    file = tmp_path / "r.sqlite"
    one = start(file)
    one.record_finished(finished("a"))
    deadline = time.monotonic() + 30
    while not query(file, "SELECT * FROM requests"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    one.close()


def test_without_a_file_nothing_is_recorded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = start(None)
    one.record(StepStats(step=1, num_running=1, num_waiting=0))
    one.record_finished(finished("a"))
    one.close()
    assert list(tmp_path.iterdir()) == []
    assert not [thread for thread in threading.enumerate() if thread.name == "acme-recorder"]


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "r.sqlite").write_text("something else, and long enough to be read as a header" * 20)
    with pytest.raises(ConfigError, match=r"cannot be recorded in .*r\.sqlite \(.*--set acme-recorder\.file=FILE"):
        start(tmp_path / "r.sqlite")
    with pytest.raises(ConfigError, match="unable to open"):
        start(tmp_path / "nowhere/r.sqlite")


def test_a_disk_that_fails_is_told_by_the_next_call(tmp_path):
    file = tmp_path / "r.sqlite"
    one = start(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE requests")
    one.record_finished(finished("a"))
    with pytest.raises(PluginError, match=r"not recorded any more, .*r\.sqlite failed: no such table: requests"):
        step_for(one, seconds=30)
    one.close()


def step_for(one, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        one.record(StepStats(step=1, num_running=1, num_waiting=0))


def test_a_failure_that_nobody_saw_is_told_by_close(tmp_path):
    one = start(tmp_path / "r.sqlite")
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection:
        connection.execute("DROP TABLE requests")
    one.record_finished(finished("a"))
    with pytest.raises(PluginError, match="no such table"):
        one.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "acme-recorder"]


def test_memory_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "MOST_WAITING", 3)
    file = tmp_path / "r.sqlite"
    one = start(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(PluginError, match="3 requests wait"):
            deque((one.record_finished(finished(str(index))) for index in range(100)), maxlen=0)
        connection.rollback()
    one.close()
    assert 3 <= len(query(file, "SELECT * FROM requests")) < 100


@pytest.mark.parametrize("values", [{"num_output_tokens": 2**70}, {"request_id": "\udc80"}], ids=["large", "surrogate"])
def test_what_the_database_cannot_hold_is_told(tmp_path, values):
    one = start(tmp_path / "r.sqlite")
    one.record_finished(finished("a", **values))
    with pytest.raises(PluginError, match="not recorded any more"):
        one.close()
