"""Each set of plugins shows what matrix.toml says of it; docs/matrix.md has these rows."""

from __future__ import annotations

import pytest
from matrix_page import HEAD, PAGE, known, page, static
from matrix_rows import read

MATRIX = read()


def marked(row):
    return pytest.param(row, id=row.name, marks=[pytest.mark.long] if row.long else [])


@pytest.mark.parametrize("row", [marked(row) for row in MATRIX.rows])
def test_row(runner, row):
    if row.missing:
        pytest.skip(f"{', '.join(row.missing)} is not installed here: hatch run kv:matrix")
    verdict = runner.verdict(row)
    assert not verdict.red, f"{row.name}: {verdict.red}"


def test_the_page_has_the_tables_rows_and_none_is_red():
    text = PAGE.read_text(encoding="utf-8")
    lines = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in text.splitlines() if line[:2] == "| "]
    assert tuple(lines[0]) == HEAD
    assert [tuple(cells[:4]) for cells in lines[2:]] == [static(row) for row in MATRIX.rows], "run: hatch run matrix"
    assert all(cells[4] and "RED" not in cells[4] for cells in lines[2:])
    assert known(MATRIX, text).keys() == {row.name for row in MATRIX.rows}
    assert page(MATRIX, known(MATRIX, text)) == text, "run: hatch run matrix"


def test_every_example_and_every_package_with_a_platform_a_family_or_a_quantization_is_in_it():
    from workspace import ROOT

    used = {wheel for row in MATRIX.rows for wheel in row.wheels}
    wanted = {f"examples/{path.parent.name}" for path in ROOT.glob("examples/*/pyproject.toml")}
    wanted |= {f"packages/{name}" for name in ("core", "platform-cpu", "models-decoder", "quant-online")}
    assert wanted <= used, f"rows are missing for {sorted(wanted - used)}"


def test_every_policy_of_the_core_has_its_row():
    from kernelet.builtin import kernelet_cache_policies, kernelet_schedulers

    chosen = {(key, row.options[key]) for row in MATRIX.rows for key in row.options if key.endswith("_policy")}
    assert {("scheduling_policy", offer.name) for offer in kernelet_schedulers()} <= chosen
    assert {("eviction_policy", offer.name) for offer in kernelet_cache_policies()} <= chosen
