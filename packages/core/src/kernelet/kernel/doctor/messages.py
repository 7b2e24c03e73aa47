"""What the parent asks of a child, and what it is told; msgspec's JSON."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from kernelet.config import PluginsConfig


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What a child does.

    Attributes:
        task: ``load`` one plugin's module, ``boot`` all plugins, ``select`` among what they offer, or look at one
            ``target``.
        config: Which plugins run, and their options.
        imports: Plugins given as import strings.
        path: ``sys.path``.
        plugin: The plugin's name (load, target).
        entry_point: Its module or object, or ``file:`` and a path (load).
        target: An import string of an offer (target).
        platforms: Names of available platforms (target).
        features: What the selected platform can do (target).
        compute_capability: Of the selected platform, where it has one (target).
    """

    task: Literal["load", "boot", "select", "target"]
    config: PluginsConfig
    path: list[str]
    imports: tuple[str, ...] = ()
    plugin: str = ""
    entry_point: str = ""
    target: str = ""
    platforms: tuple[str, ...] = ()
    features: frozenset[str] = frozenset()
    compute_capability: tuple[int, int] | None = None


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What an import takes.

    Attributes:
        seconds: From its start to its end.
        bytes: Growth of the process's resident memory.
        packages: Top-level packages that it brought in, without those of the standard library and the core.
    """

    seconds: float
    bytes: int
    packages: tuple[str, ...] = ()


Result = Literal["ok", "warning", "failed", "skipped"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was tried.

    Attributes:
        what: E.g. ``"made with the default options"``.
        offer: ``"domain:name"``; empty: the plugin as a whole.
        result: What came of it.
        message: Why, unless it is ok.
    """

    what: str
    offer: str = ""
    result: Result = "ok"
    message: str = ""


Level = Literal["failed", "warning", "note"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a person should know.

    Attributes:
        level: ``failed`` makes the exit code 1.
        about: A plugin's name, or what it is about.
        message: What is wrong.
        fix: What to do about it.
    """

    level: Level
    about: str
    message: str
    fix: str = ""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Of one plugin's module. ``cost`` is None where its import raised, which the boot reports."""

    cost: Cost | None
    checks: list[Check] = []


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """An import string of some offers of one plugin, ``uses`` being ``"domain:name field"``."""

    plugin: str
    text: str
    uses: list[str]


class Booted(msgspec.Struct, frozen=True, kw_only=True):
    """All plugins: the objects of ``plugins show --json``, the import strings of active ones, and findings.

    Attributes:
        error: A configuration that fits no plugin; nothing else is there then.
    """

    reports: list[dict[str, Any]] = []
    targets: list[Target] = []
    findings: list[Finding] = []
    error: str = ""


class Selected(msgspec.Struct, frozen=True, kw_only=True):
    """What a start would select: available platforms, what the selected one can do, and findings."""

    platforms: tuple[str, ...] = ()
    platform: str = ""
    features: frozenset[str] = frozenset()
    compute_capability: tuple[int, int] | None = None
    findings: list[Finding] = []


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """Of one import string. ``cost`` is None where it could not be imported, which the first check says."""

    cost: Cost | None
    checks: list[Check] = []
    deprecated: list[str] = []


Answer = Loaded | Booted | Selected | Examined
