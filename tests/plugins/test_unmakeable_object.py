"""A plugin that loads, and whose object cannot be made when the engine starts: it goes, or stops the start."""

from __future__ import annotations

import logging

import pytest
from planted import Planted, good

from kernelet import errors
from kernelet.config import PluginsConfig
from kernelet.contracts.stats import StatLoggerOffer
from kernelet.kernel import Kernel
from kernelet.testing.stat_logger.reports import engine

ENGINE = engine()
SOURCE = """
@hookimpl
def kernelet_stat_loggers():
    return [
        StatLoggerOffer(name="fine", target="kernelet.engine.stats:LoggingStatLogger", api="2.0"),
        StatLoggerOffer(name="broken", target="{target}", api="2.0"),
    ]
"""


@pytest.fixture(params=["no_such_module:Logger", "kernelet.engine.stats:Nope", "kernelet.contracts.stats:StatLogger"])
def bad(request, site):
    plugin = Planted("bad", SOURCE.format(target=request.param), api={"stats": "v2"})
    site.install(good("a-good"), plugin, good("c-good"))
    return plugin


def test_merely_installed_it_is_reported_and_the_others_run(bad, site, caplog):
    kernel = Kernel.boot(PluginsConfig(), search_path=site.search_path)
    with caplog.at_level(logging.WARNING, "kernelet"):
        made = kernel.make_all(StatLoggerOffer, ENGINE)
    assert [name for name, _ in made] == ["logging"]
    report = next(one for one in kernel.reports if one.name == "bad")
    assert report.state == "failed"
    assert bad.dist in caplog.text
    assert "bad" not in {entry.name for entry in kernel.manifest.plugins}
    assert {one.name: one.state for one in kernel.reports}["c-good"] == "active"


def test_asked_for_by_name_it_stops_the_start(bad, site):
    kernel = Kernel.boot(PluginsConfig(allow=("+bad",)), search_path=site.search_path)
    with pytest.raises(errors.PluginError, match="asked for by name"):
        kernel.make_all(StatLoggerOffer, ENGINE)
