"""The parent's part; children are real ones."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
import sample_parsers

from kernelet.config import PluginsConfig
from kernelet.errors import PluginError, UnknownPluginError
from kernelet.kernel.doctor.checkup import Doctor

NULL = "kernelet.testing.null:plugin"
NAME = "doctors_patient:plugin"


class Silent:
    def advance(self, amount=1):
        pass


@pytest.fixture
def waits():
    return []


@pytest.fixture
def doctor(waits):
    """A doctor of the core, the null platform and the given import strings."""

    def make(*imports, deadline=60, **config):
        @contextlib.contextmanager
        def wait(what, count):
            waits.append((what, count))
            yield Silent()

        return Doctor(PluginsConfig(allow=("core",), **config), (NULL, *imports), wait, deadline=deadline)

    return make


@pytest.fixture
def patient(module):
    """Writes a plugin; its import string."""
    end = "\n\nimport sys\nplugin = sys.modules[__name__]\n"
    return lambda source: module("doctors_patient", source + end) + ":plugin"


def failures(checkup, about=NAME):
    return [one.message for one in checkup.findings if one.level == "failed" and one.about == about]


def test_one_plugin(doctor, waits):
    checkup = doctor().examine([NULL])
    (plugin,) = checkup.plugins
    assert plugin.name == NULL
    assert plugin.cost is not None
    assert {target.target for target in plugin.targets} == {
        "kernelet.testing.null.platform:NullDevice",
        "kernelet.testing.null.platform:probe",
        "kernelet.testing.null.platform:NullConfig",
        "kernelet.testing.null.worker:NullWorker",
        "kernelet.testing.null.model:NullModel",
        "kernelet.testing.null.model:describe",
    }
    assert all(target.cost is not None for target in plugin.targets)
    assert not [check for target in plugin.targets for check in target.checks if check.result in {"failed", "skipped"}]
    assert checkup.platform == "null"
    assert waits == [("plugins", 1), ("probes", 1), ("implementations", 5), ("suites", 0)]
    assert "core" in checkup.environment


def test_a_plugin_that_ends_its_process_is_kept_out(doctor, patient):
    source = "import os, signal\n@hookimpl\ndef kernelet_schedulers():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    checkup = doctor(patient(source)).examine([NAME])
    assert failures(checkup) == [
        f"failed: importing {NAME} or calling its hooks: it ended its process by SIGKILL",
    ]
    assert not checkup.ok
    (found,) = checkup.plugins
    assert (found.report["state"], found.targets) == ("failed", [])
    assert "KERNELET_PLUGINS_BLOCK" in found.report["fix"]
    assert checkup.platform == "null"  # the others go on


def test_an_implementation_that_hangs_is_reported_and_the_others_are_tried(doctor, patient, module):
    module("implementation_that_sleeps", "import time\ntime.sleep(100)\n")
    source = """
@hookimpl
def kernelet_schedulers():
    return [
        SchedulerOffer(name="good", target="kernelet.scheduler.policies:FCFSPolicy", priority=-100),
        SchedulerOffer(name="slow", target="implementation_that_sleeps:Policy", priority=-100),
    ]
"""
    checkup = doctor(patient(source), deadline=8).examine([NAME])
    ((message),) = failures(checkup)
    assert message == "implementation_that_sleeps:Policy: import and trials: it hangs: it was ended after 8 s"
    good, slow = sorted(checkup.plugins[0].targets, key=lambda target: target.target.startswith("impl"))
    assert [check.result for check in good.checks] == ["ok", "ok"]
    assert slow.cost is None


PROBE = """
@hookimpl
def kernelet_platforms():
    return [
        PlatformOffer(
            name="x",
            target="doctors_patient:Device",
            probe="doctors_patient:probe",
            config="doctors_patient:Config",
            worker="doctors_patient:Worker",
        )
    ]


def probe():
    import os

    os._exit(9)
"""


def test_a_probe_that_ends_its_process_does_not_spoil_the_selection(doctor, patient):
    checkup = doctor(patient(PROBE)).examine([NAME])
    assert "failed: probing doctors_patient:probe: it ended its process with exit code 9" in failures(checkup)
    assert checkup.platform == "null"


def test_a_configuration_that_fits_nobody_is_an_error(doctor):
    with pytest.raises(PluginError, match="no plugin has this name"):
        doctor(settings={"nobody": {"a": "b"}}).examine([NULL])


def test_a_name_that_nobody_has(doctor):
    with pytest.raises(UnknownPluginError, match=r"no plugin is called 'nope'; installed are .*core"):
        doctor().examine(["nope"])


def test_a_plugin_that_is_a_file(doctor, tmp_path):
    file = tmp_path / "my_parsers.py"
    file.write_text(Path(sample_parsers.__file__).read_text())
    checkup = doctor(files=(str(file),)).examine(["my_parsers"])
    (plugin,) = checkup.plugins
    assert plugin.cost.packages == ()
    checks = {target.uses[0]: [check.result for check in target.checks] for target in plugin.targets}
    assert checks == {
        "tool-parser:calls target": ["ok", "ok"],
        "tool-parser:fails target": ["ok", "failed"],
        "reasoning-parser:thoughts target": ["ok", "ok"],
    }
    (message,) = failures(checkup, "my_parsers")
    assert message.startswith("tool-parser:fails: kernelet_file_my_parsers_")
    assert message.endswith(":fails: made with the plugin's options: LookupError: no table today")
