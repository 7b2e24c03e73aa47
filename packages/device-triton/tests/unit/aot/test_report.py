from __future__ import annotations

import importlib
import io

from kernelet_device_triton.aot.cases import Case, Kernels
from kernelet_device_triton.aot.compiling import Reading
from kernelet_device_triton.aot.report import COLUMNS, Row, is_current, page, rows, section, sections
from kernelet_device_triton.targets import TARGETS

CASE = Case(kernel="add", function=None, layer="bf16 8", tile="16 x 32", constants={}, types={}, matrix="large")
CASES = """
import triton
import triton.language as tl

from kernelet_device_triton.aot.cases import Case

@triton.jit
def add(x, out, block: tl.constexpr):
    place = tl.arange(0, block)
    tl.store(out + place, tl.load(x + place) + 1.0)

def cases(target):
    for block in (16, 32):
        yield Case(
            kernel="add", function=add, layer="", tile=str(block), constants={"block": block},
            types={"x": "*fp32", "out": "*fp32"}, matrix="large",
        )
"""
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


def test_rows_are_compiled_in_other_processes(tmp_path, monkeypatch):
    """In the order of cases; the interpreter is chosen when the language is imported, so these must not have it."""
    (tmp_path / "acme_cases.py").write_text(CASES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("TRITON_INTERPRET")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    cases = importlib.import_module("acme_cases").cases
    kernels, out = Kernels(package="acme-kernels", cases=cases, sources=()), io.StringIO()
    found = list(rows(kernels, ["sm90"], out, jobs=2))
    assert [row.case.tile for row in found] == ["16", "32"]
    assert all(row.read.registers and row.read.shared_bytes == 0 for row in found)
    assert out.getvalue().count("PROBLEM: no wgmma.mma_async") == 2


def test_sections_are_read_again():
    other = written().replace("acme-kernels", "other-kernels")
    assert sections(page([written(), other])) == {"acme-kernels": written(), "other-kernels": other}
    assert f"sources {KERNELS.digest};" in written()
    assert sections("") == {}


def test_a_section_is_current_as_it_was_written():
    text = sections(page([written()]))["acme-kernels"]
    assert is_current(KERNELS, text)
    assert not is_current(KERNELS, text.replace("| 1 | 2 |", "| 1 | 0 |", 1))
    assert not is_current(KERNELS, text.removesuffix(text.splitlines(keepends=True)[-1]))
    assert not is_current(KERNELS, text.replace(KERNELS.digest, "0" * 16))
    assert not is_current(KERNELS, "")
