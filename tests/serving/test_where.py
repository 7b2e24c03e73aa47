"""Which process calls which hook and imports which module of a plugin: as the table of domains says."""

from __future__ import annotations

import json
import os
import signal
from collections import defaultdict
from pathlib import Path

import recorder

OFFERS = {"servers", "endpoints", "stat_loggers", "schedulers", "cache_policies", "logits_processors"}
NAMED = (
    ("--server", "recorded"),
    ("--endpoint", "beside"),
    ("--scheduling-policy", "recorded"),
    ("--eviction-policy", "recorded"),
    ("--logits-processors", "recorded"),
)


def test_hooks_and_modules_by_process(serve, tmp_path):
    notes = tmp_path / "notes"
    paths = (str(Path(recorder.__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    service = serve(
        "--api-server-count",
        "2",
        "--tensor-parallel-size",
        "2",
        *(word for pair in NAMED for word in pair),
        RECORDER_FILE=str(notes),
        PYTHONPATH=os.pathsep.join(filter(None, paths)),
        KERNELET_PLUGINS="core,kernelet.testing.null:plugin,recorder.plugin:plugin",
    )
    body = json.dumps({"prompt": "x", "max_tokens": 3}).encode()
    for _ in range(8):
        assert service.request("POST", "/generate", body)[0] == 200
    service.send(signal.SIGTERM)
    assert service.end() == 0

    found = [json.loads(line) for line in notes.read_text().splitlines()]
    roles = {one["pid"]: one["what"] for one in found if one["kind"] == "role"}
    roles |= {pid: "frontend 1" for pid, role in roles.items() if role == "frontend 0" and pid != service.process.pid}
    assert sorted(roles.values()) == ["engine 0", "frontend 0", "frontend 1", "worker 0", "worker 1"]
    where = defaultdict(set)
    for one in found:
        where[one["kind"], one["what"]].add(roles.get(one["pid"], f"unknown {one['pid']}"))

    everywhere, frontends = set(roles.values()), {"frontend 0", "frontend 1"}
    hooks = dict.fromkeys(OFFERS | {"options", "process_started", "process_stopped"}, everywhere)
    hooks |= {"configure": {"frontend 0"}, "engine_started": {"engine 0"}, "engine_stopped": {"engine 0"}}
    assert {what: its for (kind, what), its in where.items() if kind == "hook"} == hooks
    assert {what: its for (kind, what), its in where.items() if kind == "module"} == {
        "recorder.plugin": everywhere,
        "recorder.server": frontends,
        "recorder.endpoint": frontends,
        "recorder.stats": {"frontend 0"},
        "recorder.policy": {"engine 0"},
        "recorder.cache": {"engine 0"},
        "recorder.logits": frontends,  # it checks requests there; the null worker computes no logits
    }
