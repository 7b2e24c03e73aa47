"""Reading what callgrind wrote, and the table of instructions."""

from __future__ import annotations

import argparse

import pytest
from counting.callgrind import counts
from counting.cases import FLOORS, cases
from instructions import ISAS, NOTHING, name_of, numbers, row_of, table

DUMP = """# callgrind format
version: 1
part: 2

desc: Timerange: Basic block 3748 - 4897287
desc: Trigger: Client Request: {name}

events: Ir
summary: {total}

fn=(1) main
0 5
totals: {total}
"""
ABOUT = {"kernel": "linear", "isa": "avx2", "rows": 4, "work": 1000, "floor": 0.125}


def test_dumps_are_read_by_their_mark():
    end_of_program = "# callgrind format\ndesc: Trigger: Program termination\nsummary: 7\n"
    dumps = [DUMP.format(name="linear | 4", total=12345), DUMP.format(name=NOTHING, total=67), end_of_program]
    assert counts(dumps) == {"linear | 4": 12345, NOTHING: 67}


def test_the_marks_themselves_are_taken_off():
    row = row_of(ABOUT, {name_of(ABOUT): 350, NOTHING: 100})
    assert (row["instructions"], row["each"], row["of_floor"]) == (250, 0.25, 2)
    line = table([row]).splitlines()[1].split()
    assert line == ["linear", "avx2", "4", "250", "0.2500", "0.1250", "2.00"]


def test_every_counted_instruction_set_has_floors():
    assert set(ISAS) == set(FLOORS)


@pytest.mark.parametrize("text", ["0", "1,-2", "x"])
def test_wrong_rows(text):
    with pytest.raises((ValueError, argparse.ArgumentTypeError)):
        numbers(text)


def test_cases_call_what_the_module_has():
    native = pytest.importorskip("kernelet_platform_cpu._native")
    native.start_pool(1, [])
    found = list(cases(native, (1, 3)))
    names = [(case.kernel, case.rows) for case in found]
    assert len(set(names)) == len(names)
    for case in found:
        case.call()
    prompt = next(case for case in found if case.kernel == "attention, prompt of 128")
    assert prompt.work == 2 * 9 * 64 * (128 * 129 // 2)
