from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_platform_cpu.native import native
from kernelet_platform_cpu.tuning import bench
from kernelet_platform_cpu.tuning.table import CHOICES, read, table_of

needs_kernels = pytest.mark.skipif(native() is None, reason="built without kernels")


@pytest.fixture
def small(monkeypatch):
    """Measures in no time."""
    monkeypatch.setattr(bench, "SHAPES", ((24, 16), (40, 32)))
    monkeypatch.setattr(bench, "ROWS", (1, 3))
    monkeypatch.setattr(bench, "SECONDS", 0.0)
    for name, numbers in {"ROW_KIB": (1, 192), "PANEL_KIB": (0,), "TASKS": (4,), "AHEAD": (0, 64)}.items():
        monkeypatch.setattr(bench, name, numbers)


class Heard:
    def __init__(self):
        self.calls = []

    def __call__(self, done, total):
        self.calls.append((done, total))


@needs_kernels
def test_every_form_shape_and_number_of_rows_is_measured(small):
    heard = Heard()
    figures = bench.LinearBench(Settings(plugin="platform-cpu", values={"threads": 1})).measure(heard)
    assert {figure.kernel for figure in figures} == set(CHOICES["kernel"])
    assert len({(figure.weight, figure.rows) for figure in figures}) == len(figures) == 5 * 2 * 2
    assert all(0 < figure.seconds < 10 for figure in figures)
    assert all(native().chosen_isa() in figure.detail for figure in figures)
    assert heard.calls == [(done, len(figures)) for done in range(1, len(figures) + 1)]


@needs_kernels
def test_the_tuned_table_is_one_that_the_option_takes(small, tmp_path):
    file = tmp_path / "table.toml"
    file.write_text(bench.LinearBench(Settings(plugin="platform-cpu", values={"threads": 1})).tune(Heard()))
    rows = read(file.read_text(), "tuned")
    assert len(rows) == 5 * 2
    assert {row.isa for row in rows} == {native().chosen_isa()}
    assert [row.max_outputs for row in rows] == [24, 0] * 5
    assert table_of(Settings(plugin="platform-cpu", values={"kernel_table": str(file)})).rows[: len(rows)] == rows


@needs_kernels
def test_the_best_is_the_least_over_all_numbers_of_rows(small, monkeypatch):
    """Times are a function of the row here, the least of 1 row and of 3 rows in different places."""
    times = {(1, 0): (1.0, 9.0), (1, 64): (1.2, 1.2), (192, 0): (9.0, 1.0), (192, 64): (5.0, 5.0)}

    def seconds(self, rows, row):
        return times.get((row.row_kib, row.ahead), (9.0, 9.0))[rows == 3]

    monkeypatch.setattr(bench.Case, "seconds", seconds)
    table = bench.LinearBench(Settings(plugin="platform-cpu", values={})).tune(Heard())
    dense = [row for row in read(table, "tuned") if row.kernel == "native-dense"]
    assert {(row.row_kib, row.ahead) for row in dense} == {(1, 64)}


def test_without_kernels_there_is_nothing_to_measure(monkeypatch):
    monkeypatch.setattr(bench, "native", lambda: None)
    with pytest.raises(ConfigError, match="nothing to measure"):
        bench.LinearBench(Settings(plugin="platform-cpu", values={}))
