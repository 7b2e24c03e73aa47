"""Which platform runs: named, else the single best available one; a failure never turns into another platform."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planted import available, good, platform

from kernelet.config import PluginsConfig
from kernelet.contracts.op import OpOffer
from kernelet.errors import PluginError, SelectionError
from kernelet.kernel import Kernel

CPU = platform("cpu", available(0))
CHIP = platform("chip", available(100))
OTHER = platform("other", available(100))
ABSENT = platform("absent", 'return Probe(available=False, reason="no such device")')
BROKEN = platform("broken", 'raise OSError("the driver is too old")')


@pytest.fixture
def boot(site):
    def start(*plugins, **config):
        site.install(*plugins)
        return Kernel.boot(PluginsConfig(**config), search_path=site.search_path)

    return start


def test_two_that_fit_equally_well(boot):
    with pytest.raises(SelectionError) as caught:
        boot(CPU, CHIP, OTHER).select_platform()
    for part in ("chip (platform-chip)", "other (platform-other)", "--platform NAME", "KERNELET_PLATFORM=NAME"):
        assert part in str(caught.value)
    assert "cpu" not in str(caught.value)


def test_cpu_beside_an_accelerator(boot):
    kernel = boot(CPU, CHIP)
    assert kernel.select_platform().name == "chip"
    assert kernel.platform_choice.refused == {"cpu": "chip comes first (100 against 0)"}
    assert kernel.platform_config.capabilities().device_type == "chip"


@pytest.mark.parametrize("name", ["cpu", "chip", "other"])
def test_a_named_one_wins(boot, name):
    kernel = boot(CPU, CHIP, OTHER, platform=name)
    assert kernel.select_platform().name == name
    assert kernel.platform_choice.reason == "named; it is here"


def test_a_named_one_that_fails_is_not_replaced(boot):
    kernel = boot(CPU, BROKEN, platform="broken")
    with pytest.raises(
        SelectionError, match=r"'broken' .* failed: OSError: the driver is too old. No other takes its place"
    ):
        kernel.select_platform()
    assert kernel.platform_config is None


def test_a_named_one_that_is_not_there_is_not_replaced(boot):
    with pytest.raises(SelectionError, match="was named and is not available: no such device"):
        boot(CPU, ABSENT, platform="absent").select_platform()


def test_a_named_one_that_does_not_exist(boot):
    with pytest.raises(SelectionError, match=r"No platform is named 'chop' \(did you mean chip\?\). Choices: chip"):
        boot(CPU, CHIP, platform="chop").select_platform()


def test_a_probe_that_fails_stops_the_start_unnamed(boot):
    with pytest.raises(SelectionError) as caught:
        boot(CPU, BROKEN).select_platform()
    assert "the driver is too old" in str(caught.value)
    assert "KERNELET_PLUGINS_BLOCK=platform-broken" in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)


def test_another_one_may_be_named_beside_a_broken_one(boot):
    assert boot(CPU, BROKEN, platform="cpu").select_platform().name == "cpu"


@pytest.mark.parametrize(
    "change",
    [{"source": "import not_installed_driver\n"}, {"requires": ("kernelet-core>=99",)}],
    ids=["import", "core"],
)
def test_a_platform_plugin_that_does_not_load_stops_the_start(boot, change):
    kernel = boot(CPU, replace(CHIP, **change))
    with pytest.raises(SelectionError, match=r"platform-chip.*no other takes its place"):
        kernel.select_platform()


def test_another_one_may_be_named_beside_one_that_does_not_load(boot):
    kernel = boot(CPU, replace(CHIP, source="import not_installed_driver\n"), platform="cpu")
    assert kernel.select_platform().name == "cpu"


def test_some_other_plugin_that_does_not_load_stops_nothing(boot):
    assert boot(CPU, replace(good("x"), source="import not_installed\n")).select_platform().name == "cpu"


def test_one_that_declines_lets_the_next_in(boot):
    kernel = boot(CPU, ABSENT)
    assert kernel.select_platform().name == "cpu"
    assert kernel.platform_choice.refused["absent"] == "no such device"
    report = next(r for r in kernel.reports if r.name == "platform-absent")
    assert (report.state, report.reason) == ("declined", "no such device")


def test_none_available(boot):
    with pytest.raises(SelectionError, match=r"No platform can be used.\n  absent: no such device"):
        boot(ABSENT).select_platform()


def test_none_installed(boot):
    with pytest.raises(SelectionError, match="No plugin offers a platform"):
        boot(good("x")).select_platform()


def test_probes_show_in_the_reports(boot):
    kernel = boot(CPU, BROKEN, ABSENT)
    kernel.probe_platforms()
    states = {r.name: (str(r.state), r.reason) for r in kernel.reports}
    assert states["platform-cpu"] == ("active", "")
    assert states["platform-absent"] == ("declined", "no such device")
    assert states["platform-broken"] == ("failed", "OSError: the driver is too old")
    assert "the driver is too old" in next(r for r in kernel.reports if r.name == "platform-broken").trace


def test_a_probe_that_returns_something_else(boot):
    with pytest.raises(SelectionError, match="returned bool, not a Probe"):
        boot(platform("odd", "return True")).select_platform()


def test_a_configuration_half_that_fails(boot):
    broken = replace(
        CHIP, source=CHIP.source.replace("return Capabilities", "raise OSError('no library'); Capabilities")
    )
    with pytest.raises(PluginError, match=r"'chip' .* was selected and failed: OSError: no library"):
        boot(CPU, broken).select_platform()


OPS = """
from kernelet.contracts.op import OpOffer


@hookimpl
def kernelet_ops():
    return (OpOffer(name="fast-norm-{0}", target="planted.ops:norm", op="rms_norm", priority=5),)
"""


def ops(name, **changes):
    return replace(good(name), source=OPS.format(name), api={"op": "v1"}, **changes)


def test_ops_of_strangers_must_be_named(boot):
    kernel = boot(CPU, ops("stranger"))
    assert kernel.select_op("rms_norm", "float32") is None


def test_ops_of_strangers_that_were_named(boot):
    kernel = boot(CPU, ops("stranger"), allow=("+stranger",))
    assert kernel.select_op("rms_norm", "float32").chosen.plugin == "stranger"


def test_ops_of_distributions_that_the_platform_requires(boot):
    chip = platform("chip", available(100), requires=("kernelet-core>=0.1", "kernelet-shared>=1"))
    shared = ops("shared", requires=("kernelet-core", "kernelet_Deeper"))
    kernel = boot(chip, shared, ops("deeper"), ops("stranger"))
    with pytest.raises(SelectionError, match=r"fast-norm-deeper \(deeper\), fast-norm-shared \(shared\)"):
        kernel.select_op("rms_norm", "float32")
    assert {o.plugin for o in kernel.offers(OpOffer)} == {"shared", "deeper", "stranger"}


def test_the_platforms_own_op_comes_first(boot):
    chip = platform("chip", available(100), requires=("kernelet-shared",), more=OPS.format("own").replace("=5", "=-5"))
    kernel = boot(chip, ops("shared"))
    choice = kernel.select_op("rms_norm", "float32")
    assert choice.chosen.plugin == "platform-chip"
    assert "fast-norm-own comes first" in choice.refused["fast-norm-shared"]
