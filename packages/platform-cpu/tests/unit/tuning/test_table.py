from __future__ import annotations

from dataclasses import replace

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, ScaleLevel, WeightScheme
from kernelet.errors import ConfigError
from kernelet_platform_cpu.tuning.table import CHOICES, KernelTable, Row, Weight, read, shipped, table_of

INT8 = WeightScheme(element="int8", scales=(ScaleLevel(dtype="float32", block=(1, 0)),))
ROUNDED = WeightScheme(element="int8", scales=INT8.scales, activation="dynamic", activation_element="int8")
ROW = Row(
    kernel="native-quantized",
    isa="avx2",
    weight="int8",
    inputs="own",
    max_outputs=100,
    max_inputs=50,
    row_kib=7,
    panel_kib=0,
    tasks=3,
    ahead=64,
)


def settings(**values):
    return Settings(plugin="platform-cpu", values=values)


def weight(scheme=INT8, shape=(100, 50), isa="avx2", kernel="native-quantized", dtype=""):
    return Weight.of(kernel, isa, scheme, shape, dtype)


def test_the_shipped_table_has_a_row_for_every_kernel():
    for kernel in CHOICES["kernel"]:
        for isa in ("portable", "avx2", "avx512", "avx512bf16"):
            for shape in ((1, 1), (1 << 20, 1 << 15), (8, 1 << 20, 3)):
                row = table_of(settings()).row(weight(ROUNDED, shape, isa, kernel))
                assert row.kernel == kernel


def test_the_fields_of_a_scheme():
    assert weight(DENSE, dtype="bfloat16", kernel="native-dense").weight == "bfloat16"
    assert (weight(INT8).weight, weight(INT8).inputs) == ("int8", "own")
    assert (weight(ROUNDED).weight, weight(ROUNDED).inputs) == ("int8", "int8")
    of_experts = weight(shape=(8, 100, 50))
    assert (of_experts.outputs, of_experts.columns) == (100, 50)


@pytest.mark.parametrize(
    "other",
    [
        weight(ROUNDED),
        weight(isa="avx512"),
        weight(shape=(101, 50)),
        weight(shape=(100, 51)),
        weight(kernel="native-dense"),
        weight(WeightScheme(element="int4", scales=INT8.scales)),
    ],
)
def test_what_a_row_does_not_hold_for(other):
    assert ROW.matches(weight())
    assert not ROW.matches(other)


def test_stars_and_zeros_hold_for_all():
    row = replace(ROW, isa="*", weight="*", inputs="*", max_outputs=0, max_inputs=0)
    assert all(row.matches(one) for one in (weight(ROUNDED), weight(isa="avx512"), weight(shape=(10**6, 10**6))))


def test_an_operators_rows_come_first(tmp_path):
    file = tmp_path / "table.toml"
    file.write_text("# measured here\n" + ROW.text() + replace(ROW, row_kib=8).text())
    table = table_of(settings(kernel_table=str(file)))
    assert table.row(weight()) == ROW
    assert table.row(weight(shape=(101, 50))) == shipped().row(weight())


def test_the_digest_is_of_what_the_rows_say(tmp_path):
    digests = {shipped().digest}
    for number, text in enumerate((ROW.text(), replace(ROW, tasks=4).text(), "")):
        file = tmp_path / f"{number}.toml"
        file.write_text(text)
        digests.add(table_of(settings(kernel_table=str(file))).digest)
    assert len(digests) == 3  # a file without rows changes nothing
    again = tmp_path / "again.toml"
    again.write_text("# another name, and a remark\n" + ROW.text())
    assert table_of(settings(kernel_table=str(again))).digest == KernelTable(rows=(ROW, *shipped().rows)).digest


@pytest.mark.parametrize(
    "text, message",
    [
        ("[[kernel]", r"t is no TOML"),
        ("[kernels]\nx = 1", r"\[\[kernel\]\] entries and nothing else, but here is kernels"),
        ("kernel = 3", r"but here is kernel"),
        (ROW.text() + "rows = 4\n", r"t, \[\[kernel\]\] 1: unknown rows; fields are kernel, isa"),
        (ROW.text() + ROW.text().replace("tasks = 3\n", ""), r"\[\[kernel\]\] 2: tasks is not there"),
        (
            ROW.text().replace("native-quantized", "native-fp8"),
            r"kernel is 'native-fp8', but one of native-dense",
        ),
        (ROW.text().replace("avx2", "neon"), r"isa is 'neon', but one of portable"),
        (ROW.text().replace("tasks = 3", "tasks = 0"), r"tasks is 0, but a whole number of at least 1"),
        (ROW.text().replace("tasks = 3", "tasks = 1.5"), r"tasks is 1.5, but a whole number"),
        (ROW.text().replace("tasks = 3", "tasks = true"), r"tasks is True, but a whole number"),
        (ROW.text().replace('"int8"', "8"), r"weight is 8, but text"),
    ],
)
def test_wrong_tables(text, message):
    with pytest.raises(ConfigError, match=message):
        read(text, "t")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match=r"platform-cpu.kernel_table=.*none.toml: .*No such file"):
        table_of(settings(kernel_table=str(tmp_path / "none.toml")))
