"""Plugins to install into a folder: good ones, and one for each way in which a plugin can be wrong.

They are distributions as an installer leaves them (METADATA, entry_points.txt, RECORD, a module); no pip is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernelet.contracts.versions import API_VERSIONS
from kernelet.testing.planter import PlantedDistribution, pack, plant

HEADER = """\
from __future__ import annotations

from pathlib import Path

from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.lifecycle import ConfigChange, PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.platform import PlatformOffer
from kernelet.contracts.sampling import LogitsProcessorOffer
from kernelet.contracts.stats import StatLoggerOffer
from kernelet.hookspecs import hookimpl, hookspec

Path(__file__).with_suffix(".imported").touch()
"""


@dataclass(frozen=True)
class Planted:
    """A distribution with one plugin.

    Attributes:
        name: The plugin's name; empty: a library without a plugin.
        source: Source text of its module, without the header.
        distribution: Name of the distribution; empty: made from the plugin's name.
        api: Contract domains with the version of each.
    """

    name: str
    source: str
    distribution: str = ""
    version: str = "1.0"
    requires: tuple[str, ...] = ("kernelet-core>=0.1",)
    api: Mapping[str, str] = field(default_factory=lambda: {"executor": "v1"})

    @property
    def dist(self) -> str:
        return self.distribution or f"kernelet-{self.name}"

    @property
    def module(self) -> str:
        return "planted_" + self.dist.replace("-", "_")

    def as_installed(self) -> PlantedDistribution:
        """What an installer is given."""
        return PlantedDistribution(
            name=self.dist,
            files={f"{self.module}.py": HEADER + self.source},
            entry_points={
                "kernelet.plugins": {self.name: self.module},
                "kernelet.api": {name: f"kernelet.contracts.{name}:{version}" for name, version in self.api.items()},
            }
            if self.name
            else {},
            version=self.version,
            requires=self.requires,
        )


@dataclass(frozen=True)
class Site:
    """A folder on ``sys.path``."""

    folder: Path

    @property
    def search_path(self) -> list[str]:
        return [str(self.folder)]

    def install(self, *plugins: Planted) -> None:
        """Writes plugins as an installer does."""
        for plugin in plugins:
            plant(self.folder, plugin.as_installed())

    def imported(self, plugin: Planted) -> bool:
        """Whether any process ever ran the plugin's module."""
        return (self.folder / f"{plugin.module}.imported").exists()


def write_wheel(plugin: Planted, folder: Path) -> Path:
    """Writes a plugin's wheel into a folder, for pip."""
    return pack(folder, plugin.as_installed())


def good(name: str, **changes) -> Planted:
    """A plugin that offers a scheduling policy of its own name."""
    source = f"""
@hookimpl
def kernelet_schedulers():
    return (SchedulerOffer(name={name!r}, target="planted.policies:Policy", priority=-100),)
"""
    return replace(Planted(name, source), **changes)


def platform(name: str, probe: str, *, requires: tuple[str, ...] = ("kernelet-core>=0.1",), more: str = "") -> Planted:
    """A platform whose probe has the given body."""
    plugin = Planted(f"platform-{name}", "", requires=requires, api={"platform": "v1"})
    module = plugin.module
    source = f"""
from kernelet.contracts.platform import Capabilities, PlatformConfig, Probe


def probe():
    {probe}


class Config(PlatformConfig):
    def capabilities(self):
        return Capabilities(device_type={name!r}, dtypes=("float32",), memory_bytes=1)


@hookimpl
def kernelet_platforms():
    return (
        PlatformOffer(
            name={name!r},
            target="{module}:Device",
            probe="{module}:probe",
            config="{module}:Config",
            worker="{module}:Worker",
        ),
    )
{more}
"""
    return replace(plugin, source=source)


def available(priority: int) -> str:
    return f'return Probe(available=True, priority={priority}, reason="it is here")'


@dataclass(frozen=True)
class Bad:
    """A wrong plugin (several where it takes two), and how it must be reported.

    Attributes:
        imported: Whether its module is imported at all.
        error: Name of the class of error that stops the start when it is asked for by name.
    """

    plugins: tuple[Planted, ...]
    state: str
    reason: str
    fix: str
    imported: bool = True
    error: str = "PluginError"


FIX = "fix or upgrade the plugin"
UPGRADE = "pip install -U kernelet-core kernelet-bad"
RAISES_WHEN_IMPORTED = 'raise SystemExit("imported, although its metadata says that it cannot work here")\n'

GOOD_HALF = """
@hookimpl
def kernelet_cache_policies():
    from kernelet.contracts.cache import CachePolicyOffer

    return (CachePolicyOffer(name="half", target="planted.policies:Half", priority=99),)
"""


def half(hook: str, *body: str, mark: str = "hookimpl") -> Planted:
    """One correct hook, and one that is to be wrong: its head and the lines of its body."""
    lines = ["", f"@{mark}" if mark else "", f"def kernelet_{hook}:", *(f"    {line}" for line in body or ("pass",))]
    return Planted("bad", GOOD_HALF + "\n".join(lines) + "\n")


def offering(*values: str) -> Planted:
    """A correct hook, and scheduling policies made with the given arguments."""
    offers = "".join(f"SchedulerOffer({value}), " for value in values)
    return half("schedulers()", f"return ({offers})")


BAD: dict[str, Bad] = {
    "import error": Bad(
        (Planted("bad", "import a_library_that_is_not_here\n"),),
        "failed",
        "ModuleNotFoundError: No module named 'a_library_that_is_not_here'",
        "install the package that provides the module 'a_library_that_is_not_here'",
    ),
    "duplicate name": Bad(
        (
            good("bad", distribution="kernelet-bad-first"),
            good("bad", distribution="kernelet-bad-second", version="2.0"),
        ),
        "failed",
        "the name 'bad' is claimed by kernelet-bad-first 1.0 and kernelet-bad-second 2.0",
        "uninstall one of them",
        imported=False,
        error="DuplicatePluginError",
    ),
    "unknown hook": Bad(
        (half("shedulers()"),),
        "failed",
        "unknown hook kernelet_shedulers (did you mean kernelet_schedulers",
        FIX,
    ),
    "wrong signature": Bad(
        (half("engine_started(temperature)"),),
        "failed",
        "wrong signature: kernelet_engine_started asks for 'temperature', but gets no parameters",
        FIX,
    ),
    "incompatible core": Bad(
        (Planted("bad", RAISES_WHEN_IMPORTED, requires=("kernelet-core>=99",)),),
        "incompatible",
        "kernelet-bad 1.0 needs kernelet-core>=99, here is ",
        UPGRADE,
        imported=False,
        error="IncompatiblePluginError",
    ),
    "incompatible contract": Bad(
        (Planted("bad", RAISES_WHEN_IMPORTED, api={"executor": "v7"}),),
        "incompatible",
        "kernelet-bad 1.0 needs the contract executor v7, this core serves v1",
        UPGRADE,
        imported=False,
        error="IncompatiblePluginError",
    ),
    "raises in its hook": Bad(
        (half("schedulers()", 'raise OSError("disk on fire")'),), "failed", "OSError: disk on fire", FIX
    ),
    # --- beyond the six ---
    "exits when imported": Bad((Planted("bad", "raise SystemExit(3)\n"),), "failed", "SystemExit: 3", FIX),
    "unknown contract": Bad(
        (Planted("bad", RAISES_WHEN_IMPORTED, api={"telepathy": "v1"}),),
        "incompatible",
        "needs the contract telepathy v1, this core has none of that name",
        UPGRADE,
        imported=False,
        error="IncompatiblePluginError",
    ),
    "hook without its mark": Bad(
        (half("schedulers()", mark=""),), "failed", "kernelet_schedulers is not marked: write @hookimpl", FIX
    ),
    "keyword-only parameter": Bad(
        (half("process_started(role, *, rank)"),), "failed", "kernelet_process_started takes plain parameters", FIX
    ),
    "no hooks": Bad((Planted("bad", "x = 1\n"),), "failed", "it implements no hook", FIX),
    "hook wrapper": Bad(
        (half("schedulers()", "return (yield)", mark="hookimpl(wrapper=True)"),),
        "failed",
        "kernelet_schedulers is a hook wrapper",
        FIX,
    ),
    "returns nothing": Bad((half("schedulers()"),), "failed", "returned NoneType, not a tuple of SchedulerOffer", FIX),
    "returns something else": Bad(
        (half("schedulers()", 'return ("fcfs",)'),), "failed", "'fcfs', which is no SchedulerOffer", FIX
    ),
    "bad target": Bad(
        (offering('name="x", target="no colon"'),),
        "failed",
        "target 'no colon' is not of the form package.module:Class",
        FIX,
    ),
    "offer of a newer contract": Bad(
        (offering('name="x", target="planted.policies:X", api="1.99"'),),
        "incompatible",
        f"scheduling policy 'x' needs the contract executor 1.99, this core has {API_VERSIONS['executor']}",
        UPGRADE,
        error="IncompatiblePluginError",
    ),
    "takes a name that has an owner": Bad(
        (offering('name="fcfs", target="planted.policies:X"'),),
        "failed",
        "executor 'fcfs' is offered by the plugins 'core' and 'bad'",
        "KERNELET_PLUGINS_BLOCK=bad",
        error="DuplicatePluginError",
    ),
    "replaces stdout": Bad(
        (Planted("bad", "import sys\nsys.stdout = None\n" + GOOD_HALF),),
        "failed",
        "it replaced sys.stdout of this process, which was put back",
        FIX,
    ),
    "replaces stderr in its hook": Bad(
        (half("schedulers()", "import io, sys", "sys.stderr = io.StringIO()", "return ()"),),
        "failed",
        "it replaced sys.stderr of this process, which was put back",
        FIX,
    ),
    "unreadable contract": Bad(
        (Planted("bad", RAISES_WHEN_IMPORTED, api={"executor": "latest"}),),
        "incompatible",
        "names the contract executor as 'kernelet.contracts.executor:latest', which is not of the form",
        UPGRADE,
        imported=False,
        error="IncompatiblePluginError",
    ),
    "unreadable requirement": Bad(
        (Planted("bad", RAISES_WHEN_IMPORTED, requires=("kernelet-core>>1",)),),
        "incompatible",
        "has a requirement that cannot be read, 'kernelet-core>>1': ",
        "the distribution is broken: tell its author, or reinstall it: pip install --force-reinstall kernelet-bad",
        imported=False,
        error="IncompatiblePluginError",
    ),
    "version that is none": Bad(
        (Planted("bad", RAISES_WHEN_IMPORTED, version="latest"),),
        "failed",
        "its metadata has the version 'latest', which is none: reinstall it, or delete ",
        "",
        imported=False,
    ),
    "options of an unknown type": Bad(
        (half("options()", "return PluginOptions(schema={'level': Option(type=list)})"),),
        "failed",
        "option 'level': its type must be one of bool, int, float, str",
        FIX,
    ),
}
"""Wrong plugins by what is wrong with them; all are named ``bad``, so that they sort between a-good and c-good."""


def child(folder: str, data: bytes) -> tuple[str, dict[str, list[str]]]:
    """Runs in another process: loads a manifest; returns its digest and all offers as text, by plugin."""
    from kernelet.config import PluginsConfig
    from kernelet.kernel import Kernel, Manifest

    if folder not in sys.path:
        sys.path.insert(0, folder)
    kernel = Kernel.from_manifest(Manifest.decode(data), PluginsConfig(), search_path=[folder])
    return kernel.manifest.digest, offers_as_text(kernel)


def offers_as_text(kernel) -> dict[str, list[str]]:
    """Every field of every offer, by plugin."""
    from kernelet.kernel.kinds import KINDS

    found: dict[str, list[str]] = {}
    for kind in KINDS:
        for owned in kernel.offers(kind.offer):
            found.setdefault(owned.plugin, []).append(repr(owned.offer))
    return found
