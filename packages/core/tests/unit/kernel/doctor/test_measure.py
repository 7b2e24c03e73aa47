from __future__ import annotations

import subprocess
import sys

from kernelet.kernel.doctor.measure import measured, resident_bytes


def test_memory_is_that_of_the_process():
    # A process of its own: memory that an earlier test freed may be given out again, and the size does not grow.
    program = (
        "from kernelet.kernel.doctor.measure import resident_bytes\n"
        "before = resident_bytes()\nheld = bytearray(b'x') * (64 << 20)\nprint(resident_bytes() - before)"
    )
    grown = int(subprocess.check_output([sys.executable, "-c", program], text=True))
    assert 48 << 20 < grown < 96 << 20


def test_where_the_system_does_not_tell_it_is_the_largest(tmp_path):
    assert resident_bytes(tmp_path / "none") >= resident_bytes() // 2


def test_an_import_is_measured_in_a_process_of_its_own(tmp_path):
    (tmp_path / "slow_and_large.py").write_text(
        "import time\nimport xml.dom\nimport other_package\ntime.sleep(0.2)\nHELD = bytearray(b'x') * (32 << 20)\n"
    )
    (tmp_path / "other_package.py").write_text("")
    program = (
        "import sys, importlib; sys.path.insert(0, sys.argv[1])\n"
        "from kernelet.kernel.doctor.measure import measured\n"
        "module, cost = measured(lambda: importlib.import_module('slow_and_large'), own='slow_and_large')\n"
        "assert module.HELD; print(cost.seconds, cost.bytes, *cost.packages)"
    )
    out = subprocess.check_output([sys.executable, "-c", program, str(tmp_path)], text=True).split()
    assert 0.2 <= float(out[0]) < 10
    assert 32 << 20 <= int(out[1]) < 96 << 20
    assert out[2:] == ["other_package"]


def test_what_is_there_already_costs_nothing():
    import json

    found, cost = measured(lambda: json)
    assert found is json
    assert (cost.packages, cost.seconds < 0.1) == ((), True)
