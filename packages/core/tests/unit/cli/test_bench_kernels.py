from __future__ import annotations

import json

import pytest

PLUGIN = """
from __future__ import annotations

from dataclasses import replace

from kernelet.contracts.platform import KernelBench, KernelFigure
from kernelet.hookspecs import hookimpl
from kernelet.testing.null.plugin import NullPlugin


class Plugin(NullPlugin):
    @hookimpl
    def kernelet_platforms(self):
        (offer,) = super().kernelet_platforms()
        return (replace(offer, kernel_bench=f"{__name__}:BENCH"),)


class Bench(KernelBench):
    def __init__(self, settings):
        self.memory = settings.values["memory_bytes"]

    def measure(self, advance):
        for done in range(3):
            advance(done, 2)
        return [KernelFigure(kernel="dense", weight="bfloat16 [2, 3]", rows=4, seconds=5e-6, detail=str(self.memory))]

    def tune(self, advance):
        advance(1, 1)
        return "[[kernel]]\\n"


class Untuned(Bench):
    tune = KernelBench.tune


plugin = Plugin()
"""


@pytest.fixture
def plant(tmp_path, monkeypatch):
    """Takes the null platform with a benchmark of the name."""

    def make(bench):
        module = f"measured_{bench.lower()}"
        (tmp_path / f"{module}.py").write_text(PLUGIN.replace("BENCH", bench))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setenv("KERNELET_PLUGINS", f"core,{module}:plugin")

    return make


@pytest.fixture
def measured(plant, tmp_path):
    plant("Bench")
    return tmp_path


def test_figures_as_a_table_and_as_json(kernelet, measured):
    code, out, err = kernelet("bench", "kernels")
    assert (code, err) == (0, "")
    assert out.splitlines()[1].split() == ["dense", "bfloat16", "[2,", "3]", "4", "5.0", str(1 << 26)]
    code, out, _ = kernelet("bench", "kernels", "--json")
    assert json.loads(out) == {
        "kernel": "dense",
        "weight": "bfloat16 [2, 3]",
        "rows": 4,
        "seconds": 5e-6,
        "detail": str(1 << 26),
    }


def test_a_table_is_printed_or_written(kernelet, measured):
    assert kernelet("bench", "kernels", "--tune") == (0, "[[kernel]]\n", "")
    file = measured / "table.toml"
    assert kernelet("bench", "kernels", "--tune", "-o", file) == (0, "", "")
    assert file.read_text() == "[[kernel]]\n"


@pytest.mark.parametrize("arguments", [("-o", "x"), ("--tune", "--json")])
def test_what_does_not_go_together(kernelet, measured, arguments):
    code, _, err = kernelet("bench", "kernels", *arguments)
    assert code == 2
    assert "--tune" in err


def test_a_platform_without_a_benchmark(kernelet):
    code, _, err = kernelet("bench", "kernels")
    assert code == 1
    assert "'null' (plugin kernelet.testing.null:plugin) has no benchmark of its kernels" in err


def test_a_platform_without_a_table(kernelet, plant):
    plant("Untuned")
    code, _, err = kernelet("bench", "kernels", "--tune")
    assert (code, err) == (1, "error: the kernels of this platform have no table: leave out --tune\n")
