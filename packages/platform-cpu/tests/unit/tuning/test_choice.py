from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, WeightKernelOffer
from kernelet.kernel.plan import plan_digest
from kernelet.layers.kernels import select_kernel
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.testing.tensors import make_context
from kernelet_platform_cpu.linear.native_dense import NativeDense
from kernelet_platform_cpu.native import native
from kernelet_platform_cpu.tuning.choice import detail, set_up
from kernelet_platform_cpu.tuning.table import Weight, shipped

pytestmark = pytest.mark.skipif(native() is None, reason="built without kernels")


class Linear:
    def share(self, **numbers):
        self.numbers = numbers


def kernel(path=None):
    values = {} if path is None else {"kernel_table": str(path)}
    return NativeDense(Settings(plugin="platform-cpu", values=values), "linear", DENSE)


@pytest.fixture
def table(tmp_path):
    isa = native().chosen_isa()
    row = shipped().row(Weight.of("native-dense", isa, DENSE, (4, 4), "float32"))
    file = tmp_path / "table.toml"
    file.write_text(replace(row, max_outputs=4, row_kib=1, panel_kib=1, tasks=50, ahead=9).text())
    return file


def test_a_row_reaches_the_extension(table):
    linears = Linear(), Linear()
    set_up(kernel(table), "native-dense", linears, (4, 4), "float32")
    assert linears[0].numbers == linears[1].numbers == {"row_bytes": 1024, "panel_bytes": 1024, "tasks": 50, "ahead": 9}
    set_up(kernel(table), "native-dense", linears, (5, 4), "float32")
    assert linears[0].numbers["row_bytes"] == 192 << 10


def test_the_plan_tells_tables_apart(table):
    assert detail(kernel()).startswith(f"{native().chosen_isa()}, table ")
    assert detail(kernel()) != detail(kernel(table))
    assert kernel().detail("float32", (4, 4)) == detail(kernel())


def test_bits_do_not_depend_on_the_table(tmp_path):
    weight, x = torch.randn(300, 90).bfloat16(), torch.randn(33, 90).bfloat16()
    row = shipped().row(Weight.of("native-dense", "avx2", DENSE, (1, 1), "bfloat16"))
    found = []
    for number, changes in enumerate(({}, {"row_kib": 1, "panel_kib": 1, "tasks": 100, "ahead": 0}, {"panel_kib": 0})):
        file = tmp_path / f"{number}.toml"
        file.write_text(replace(row, **changes).text())
        one = kernel(file)
        found.append(one.apply(x, one.prepare({"weight": weight}), None))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_numbers_that_share_nothing_out():
    prepared = kernel().prepare({"weight": torch.ones(4, 4)})
    with pytest.raises(ValueError, match="row_bytes and tasks are at least 1"):
        prepared.linear.share(row_bytes=0, panel_bytes=0, tasks=1, ahead=0)


def test_another_table_is_another_engine(table):
    def digest(path):
        offer = WeightKernelOffer(name="native-dense", target="own:Dense")
        made = kernel(path)
        context = make_context(plugins=FixedPlugins([offer], {"own:Dense": lambda *_: made}))
        select_kernel(context, "model.x", "linear", (4, 4))
        return plan_digest(
            EnginePlan(architecture="A", row="r", dtype="float32", platform="cpu", layers=tuple(context.layer_plans))
        )

    assert digest(None) == digest(None) != digest(table)
