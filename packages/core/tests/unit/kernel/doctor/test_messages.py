from __future__ import annotations

import msgspec

from kernelet.config import PluginsConfig
from kernelet.kernel.doctor.messages import Examined, Job


def test_a_job_survives_the_way():
    config = PluginsConfig(allow=("a", "+b"), attention={"full": "x"}, settings={"p": {"k": 1, "t": "text"}})
    job = Job(task="target", config=config, path=["/a", ""], features=frozenset({"fp8"}), compute_capability=(9, 0))
    assert msgspec.json.decode(msgspec.json.encode(job), type=Job) == job


def test_no_answer_is_mistaken_for_another():
    empty = msgspec.json.encode(Examined(cost=None))
    assert msgspec.json.decode(empty, type=Examined).checks == []
