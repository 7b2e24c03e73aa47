from __future__ import annotations

import pytest

from kernelet.config import PluginsConfig
from kernelet.kernel.doctor.boot import boot, start

NAME = "doctors_patient:plugin"


def of(booted, about=NAME):
    return [(one.level, one.message) for one in booted.findings if one.about == about]


def test_reports_and_import_strings(scheduler):
    booted = boot(scheduler("boot", more='self_check="doctors_patient:check"'))
    assert booted.error == ""
    assert {report["name"]: report["state"] for report in booted.reports}[NAME] == "active"
    mine = {target.text: target.uses for target in booted.targets if target.plugin == NAME}
    assert mine == {
        "doctors_patient:Policy": ["executor:x target"],
        "doctors_patient:check": ["executor:x self_check"],
    }
    assert of(booted) == []


def test_a_failure_stops_nothing_although_the_plugin_was_handed_over(job):
    booted = boot(job("boot", "raise OSError('broken')"))
    assert of(booted) == [("failed", "failed: OSError: broken")]
    assert next(one.fix for one in booted.findings if one.about == NAME)


@pytest.mark.parametrize(
    "config, message",
    [
        (PluginsConfig(allow=("core",), settings={"nobody": {"a": "1"}}), "no plugin has this name"),
        (PluginsConfig(allow=("nope",)), "'nope'"),
    ],
)
def test_a_configuration_that_fits_nobody(scheduler, config, message):
    booted = boot(scheduler("boot", config=config))
    assert message in booted.error
    assert booted.reports == []


def test_what_goes_away(job):
    source = "@hookimpl\ndef kernelet_cache_policies():\n"
    source += '    return (CachePolicyOffer(name="old", target="m:X", api="1.0", priority=-100),)\n'
    ((level, message),) = of(boot(job("boot", source)))
    assert level == "warning"
    assert message.startswith("it uses cache contract v1, deprecated since cache 2.0, goes away in kernelet-core ")


def test_a_lock_file_is_compared_and_stops_nothing(scheduler, tmp_path):
    from kernelet.kernel.lock import to_text

    file = tmp_path / "a.lock"
    config = PluginsConfig(allow=("core",), locked=str(file))
    job = scheduler("boot", config=config)
    assert "cannot be read" in of(boot(job), str(file))[0][1]
    file.write_text(to_text(start(job).make_lock()))
    assert of(boot(job), str(file)) == []
    file.write_text(file.read_text().replace('python = "', 'python = "Other'))
    ((level, message),) = of(boot(job), str(file))
    assert level == "failed"
    assert "another environment, Python" in message
