from __future__ import annotations

from pathlib import Path

from kernelet_attention_triton.aot.cases import cases
from kernelet_attention_triton.aot.compiling import Reading
from kernelet_attention_triton.aot.report import COLUMNS, Row, digest, page
from kernelet_attention_triton.targets import REPORTED, TARGETS

PAGE = Path(__file__).parents[5] / "docs/kernels.md"


def test_the_report_is_of_these_sources():
    text = PAGE.read_text(encoding="utf-8")
    command = "python -m kernelet_attention_triton.aot --write docs/kernels.md"
    assert digest() in text, f"kernels changed since they were compiled for all targets: run `{command}`"
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(REPORTED)
    for name in REPORTED:
        section = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert section.count("\n| ") == 1 + len(list(cases(TARGETS[name])))


def test_a_row_has_what_was_read():
    target = TARGETS["sm90"]
    case = next(cases(target))
    read = Reading(registers=1, spills=2, shared_bytes=3, matrix=("mma.sync",))
    text = page([Row(target=target, case=case, read=read, problems=())])
    last = text.splitlines()[-1]
    assert last.count("|") == len(COLUMNS) + 1
    assert "| 1 | 2 | 3 | mma.sync | wgmma.mma_async |" in last
