from __future__ import annotations

from pathlib import Path

import pytest

from kernelet_attention_triton.cases import SHAPES, cases
from kernelet_device_triton.aot.cases import installed
from kernelet_device_triton.aot.report import COMMAND, is_current, sections
from kernelet_device_triton.targets import REPORTED, TARGETS

REFUSED = {"gfx1100": {"bf16 16 x 576, mla", "bf16 16 x 576, mla, e4m3fn"}}
PAGE = Path(__file__).parents[4] / "docs/kernels.md"


@pytest.mark.parametrize("name", REPORTED)
def test_every_argument_is_given_and_every_shape_attended(name):
    found = list(cases(TARGETS[name]))
    for case in found:
        assert set(case.constants) | set(case.types) == set(case.function.arg_names)
        assert not set(case.constants) & set(case.types)
    attended = set(map(str, SHAPES)) - REFUSED.get(name, set())
    assert {case.layer for case in found if case.kernel == "attend, decode"} == attended
    assert {case.kernel for case in found} == {
        "attend, prefill",
        "attend, parts",
        "attend, decode",
        "attend, invariant",
        "merge",
        "write_kv",
        "rope_write_kv",
    }
    assert len({(case.kernel, case.layer) for case in found}) == len(found)


def test_large_tiles_are_multiplied_as_such():
    default = {(case.kernel, case.layer): case for case in cases(TARGETS["sm90"]) if case.is_default}
    for layer in ("bf16 4 x 128", "bf16 16 x 576, mla"):
        found = [default[kernel, layer].matrix for kernel in ("attend, prefill", "attend, decode", "merge")]
        assert found == ["large", "small", ""]


def test_the_report_is_of_these_sources():
    (kernels,) = installed(["attention-triton"])
    text = sections(PAGE.read_text(encoding="utf-8"))[kernels.package]
    assert is_current(kernels, text), f"it is of other kernels, or was changed by hand: run `{COMMAND}`"
    assert [line[4:] for line in text.splitlines() if line.startswith("### ")] == list(REPORTED)
    for name in REPORTED:
        table = text.partition(f"### {name}\n")[2].partition("\n### ")[0]
        assert table.count("\n| ") == 1 + len(list(cases(TARGETS[name])))
