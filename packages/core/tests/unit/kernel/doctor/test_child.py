from __future__ import annotations

import json
import subprocess
import sys

import msgspec
import pytest

from kernelet.kernel.doctor.child import answer
from kernelet.kernel.doctor.messages import Booted, Examined, Loaded, Selected


@pytest.mark.parametrize("task, kind", [("load", Loaded), ("boot", Booted), ("select", Selected), ("target", Examined)])
def test_each_task_has_its_answer(scheduler, task, kind):
    assert isinstance(answer(scheduler(task, target="doctors_patient:Policy")), kind)


def test_the_answer_is_written_whole_and_the_process_ends(scheduler, tmp_path):
    (tmp_path / "job").write_bytes(msgspec.json.encode(scheduler("boot")))
    command = [sys.executable, "-m", "kernelet.kernel.doctor.child", str(tmp_path / "job"), str(tmp_path / "answer")]
    subprocess.run(command, check=True)
    found = json.loads((tmp_path / "answer").read_text())
    assert {report["name"] for report in found["reports"]} >= {"core", "doctors_patient:plugin"}
    assert not (tmp_path / "answer.part").exists()
