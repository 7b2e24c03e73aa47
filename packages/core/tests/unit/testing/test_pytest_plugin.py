from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from kernelet.contracts.platform import PlatformOffer
from kernelet.testing.null import NullPlugin

TESTS = """
import sys

from kernelet import SamplingParams
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.hookspecs import hookimpl

STARTED = []


class Plugin:
    name = "acme"

    @hookimpl
    def kernelet_options(self):
        return PluginOptions(schema={"level": Option(type=int, default=1, help="Of calm")})

    @hookimpl
    def kernelet_schedulers(self):
        return (SchedulerOffer(name="acme", target="kernelet.scheduler.policies:FCFSPolicy", priority=-10),)


def test_llm(kernelet_llm, kernelet_null_model):
    llm = kernelet_llm(Plugin(), scheduling_policy="acme")
    STARTED.append(llm)
    (output,) = llm.generate("hello", SamplingParams(max_tokens=3, ignore_eos=True))
    assert len(output.outputs[0].token_ids) == 3
    assert llm.config.model.path == str(kernelet_null_model)
    assert "torch" not in sys.modules


def test_it_was_shut_down(kernelet_kernel):
    import pytest
    from kernelet.errors import EngineDeadError

    with pytest.raises(EngineDeadError):
        STARTED[0].generate("hello", SamplingParams(max_tokens=3))


def test_kernel(kernelet_kernel):
    kernel = kernelet_kernel(Plugin(), settings={"acme": {"level": 3}})
    assert kernel.settings("acme")["level"] == 3
    assert {r.name for r in kernel.reports if r.state == "active"} == {"acme", "core"}


def test_device(kernelet_recording_device):
    kernelet_recording_device.init()
    assert [call.name for call in kernelet_recording_device.calls] == ["__init__", "init"]
"""


def test_pytest_loads_it_by_its_entry_point(tmp_path):
    (tmp_path / "test_of_a_vendor.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout


def test_it_is_light():
    """Of its own; pytest has plugins that load more."""
    program = "import sys, kernelet.testing.pytest_plugin\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not {"torch", "hypothesis", "numpy", "msgspec", "tokenizers"} & loaded
    assert "pytest" in loaded


def test_names_begin_with_the_projects():
    points = {point.name: point.value for point in entry_points(group="pytest11") if "kernelet" in point.value}
    assert points == {"kernelet": "kernelet.testing.pytest_plugin"}
    from kernelet.testing import pytest_plugin

    fixtures = [n for n, v in vars(pytest_plugin).items() if type(v).__name__ == "FixtureFunctionDefinition"]
    assert len(fixtures) >= 4
    assert all(name.startswith("kernelet_") for name in fixtures)


def test_of_several_kinds_of_plugins(kernelet_kernel):
    import kernelet.testing.null as module

    for plugin in (NullPlugin(), "kernelet.testing.null:plugin"):
        assert [owned.offer.name for owned in kernelet_kernel(plugin).offers(PlatformOffer)] == ["null"]
    assert kernelet_kernel().offers(PlatformOffer) == ()
    assert module.plugin.name == "platform-null"


@pytest.mark.parametrize("count", [0, 2])
def test_several_engines(kernelet_llm, count):
    engines = [kernelet_llm(max_num_seqs=4) for _ in range(count)]
    assert len({id(engine) for engine in engines}) == count
