"""docs/metrics.md has each metric of the package, with the names that it is shown under."""

from __future__ import annotations

import re

import pytest
from workspace import ROOT

from kernelet.contracts.offer import Settings
from kernelet.testing.stat_logger.reports import engine
from kernelet_stats_prometheus.logger import PrometheusLogger
from kernelet_stats_prometheus.metrics import FINISHED, METRICS

TEXT = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("metric", [*METRICS, FINISHED], ids=lambda one: one.key)
def test_every_metric_has_its_row(metric):
    end = "_total" if metric.kind == "counter" else ""
    vllm = ", ".join(f"`{name}{end}`" for name in metric.vllm)
    assert f"| `{metric.name}{end}` | {metric.kind} | {vllm} | {metric.help.removesuffix('.')} |" in TEXT


def test_every_name_of_the_page_is_shown():
    logger = PrometheusLogger(Settings(plugin="p", values={"names": "vllm"}), engine())
    shown = logger.exposition().body.decode()
    named = re.findall(r"`((?:kernelet_|vllm:)[a-z_]+)`", TEXT)
    assert len(named) > 40
    missing = [name for name in named if f"# TYPE {name} " not in shown]
    assert missing == ["vllm:request_params_n"], "the page says that this one is not there"
