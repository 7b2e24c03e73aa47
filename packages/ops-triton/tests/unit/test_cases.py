from __future__ import annotations

from pathlib import Path

import pytest

from kernelet_device_triton.aot.cases import installed
from kernelet_device_triton.aot.report import COMMAND, is_current, sections
from kernelet_device_triton.targets import REPORTED, TARGETS
from kernelet_ops_triton.cases import SCHEMES, cases
from kernelet_ops_triton.linear.packing import supports

PAGE = Path(__file__).parents[4] / "docs/kernels.md"


@pytest.mark.parametrize("name", REPORTED)
def test_every_argument_is_given(name):
    found = list(cases(TARGETS[name]))
    for case in found:
        assert set(case.constants) | set(case.types) == set(case.function.arg_names)
        assert not set(case.constants) & set(case.types)
        assert not any("elements" in kind for kind in case.types.values())
    assert len({(case.kernel, case.layer, case.tile) for case in found}) == len(found)
    assert {case.kernel for case in found} == {
        "norm",
        "add_norm",
        "activate",
        "rotate",
        "mask_tokens",
        "sample, best",
        "sample, drawn",
        "round_rows",
        "gemm",
        "gemm, experts",
    }


def test_schemes_are_served():
    assert all(supports(scheme, "bfloat16", (4096, 4096)).ok for scheme in SCHEMES[1:])


def test_tiles_of_each_height_are_compiled():
    tiles = {case.tile.split(" x ")[0] for case in cases(TARGETS["sm90"]) if case.kernel == "gemm"}
    assert {"16", "64", "128"} <= tiles


def test_the_report_is_of_these_sources():
    (kernels,) = installed(["ops-triton"])
    text = sections(PAGE.read_text(encoding="utf-8"))[kernels.package]
    assert is_current(kernels, text), f"it is of other kernels, or was changed by hand: run `{COMMAND}`"
    assert [line[4:] for line in text.splitlines() if line.startswith("### ")] == list(REPORTED)
    for name in REPORTED:
        table = text.partition(f"### {name}\n")[2].partition("\n### ")[0]
        assert table.count("\n| ") == 1 + len(list(cases(TARGETS[name])))
