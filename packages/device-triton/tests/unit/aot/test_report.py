from __future__ import annotations

from kernelet_device_triton.aot.cases import Case, Kernels
from kernelet_device_triton.aot.compiling import Reading
from kernelet_device_triton.aot.report import COLUMNS, Row, page, section, sections
from kernelet_device_triton.targets import TARGETS

CASE = Case(kernel="add", function=None, layer="bf16 8", tile="16 x 32", constants={}, types={}, matrix="large")
KERNELS = Kernels(package="acme-kernels", cases=lambda _target: iter((CASE,)), sources=())


def written():
    read = Reading(registers=1, spills=2, shared_bytes=3, matrix=("mma.sync",))
    rows = [Row(target=TARGETS[name], case=CASE, read=read, problems=()) for name in ("sm90", "sm90", "sm80")]
    return section(KERNELS, rows)


def test_a_row_has_what_was_read():
    lines = [line for line in written().splitlines() if line.startswith("| add")]
    assert len(lines) == 3
    assert lines[0] == "| add | bf16 8 | 16 x 32 | 1 | 2 | 3 | mma.sync | wgmma.mma_async |"
    assert lines[0].count("|") == len(COLUMNS) + 1


def test_targets_have_tables():
    assert [line for line in written().splitlines() if line.startswith("### ")] == ["### sm90", "### sm80"]


def test_sections_are_read_again():
    other = written().replace("acme-kernels", "other-kernels")
    assert sections(page([written(), other])) == {"acme-kernels": written(), "other-kernels": other}
    assert f"sources {KERNELS.digest}." in written()
    assert sections("") == {}
