"""How a process comes to its plugins: by itself, as the operator says, or as its parent's manifest says."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from kernelet.config import PluginsConfig
from kernelet.errors import PluginError
from kernelet.kernel import deprecations, drift, manifest
from kernelet.kernel.allow import AllowList
from kernelet.kernel.boot import Booted, boot
from kernelet.kernel.discovery import discover, file_of
from kernelet.kernel.loader import builtin_candidate, handed_candidates
from kernelet.kernel.lock import LockFile, read_lock
from kernelet.kernel.manifest import Manifest
from kernelet.kernel.plugin_files import file_candidates
from kernelet.kernel.record import Record

logger = logging.getLogger("kernelet.kernel")


@dataclass(frozen=True, kw_only=True)
class Start:
    """What a kernel is made from.

    Attributes:
        booted: The plugins.
        allow: Which may run, and which were named.
        lock: The lock file that they were held to.
        notices: Remarks about installed metadata, for people.
    """

    booted: Booted
    allow: AllowList
    lock: LockFile | None = None
    notices: tuple[str, ...] = ()


def start(
    config: PluginsConfig, plugins: Sequence[object], search_path: Sequence[str] | None, *, report_only: bool = False
) -> Start:
    """The plugins that are installed and allowed, and those that a script hands over.

    Args:
        config: Allow-list, block-list, names and options.
        plugins: Objects or import strings.
        search_path: Folders in which distributions are looked for; None means ``sys.path``.
        report_only: No plugin's failure stops the start.

    Raises:
        UnknownPluginError: a listed name is not installed; the message lists what is.
        LockError: what would run is not what the lock file says; nothing of it was imported.
        PluginError: a plugin that was asked for by name cannot run.
        ConfigError: an option that no plugin has, or of the wrong type.
    """
    locked = read_lock(config.locked) if config.locked else None
    found = discover(search_path)
    candidates = [builtin_candidate(), *found.candidates, *handed_candidates(plugins)]
    candidates += file_candidates(config.files)
    allow = dataclasses.replace(AllowList.from_config(config), report_only=report_only)
    notices = found.notices + allow.check_names(candidates)
    for notice in notices:
        logger.warning("%s", notice)
    if locked:
        names = frozenset(plugin.name for plugin in locked.lock.plugin)
        allow = dataclasses.replace(allow, required=names)
        booted = boot(candidates, allow, config, partial(drift.check_installed, locked))
        drift.check_offers(locked, booted.records)
    else:
        booted = boot(candidates, allow, config)
    for record in booted.records:
        deprecations.note_plugin(record)
    return Start(booted=booted, allow=allow, lock=locked, notices=notices)


def start_from(parents: Manifest, config: PluginsConfig, role: str, search_path: Sequence[str] | None) -> Start:
    """Exactly the plugins of a manifest.

    Raises:
        ManifestMismatchError: this process has others; names both sides.
        LockError: they are not what the parent's lock file says.
        PluginError: one of them cannot run here, or only exists as an object of the parent.
    """
    objects = [entry.name for entry in parents.plugins if not entry.entry_point]
    if objects:
        raise PluginError(
            f"plugins={objects} are objects of the parent process; an engine in a process of its own needs import "
            f"strings: plugins=['package.module:Class']"
        )
    handed = [entry for entry in parents.plugins if not entry.distribution]
    files = {entry.name: file_of(entry.entry_point, entry.path) for entry in handed}
    strings = [entry.entry_point for entry in handed if not files[entry.name]]
    names = frozenset(entry.name for entry in parents.plugins)
    allow = dataclasses.replace(
        AllowList.from_config(config), only=names, required=names, blocked=frozenset(), origin="the manifest"
    )
    found = [builtin_candidate(), *discover(search_path).candidates, *handed_candidates(strings)]
    found += file_candidates(filter(None, files.values()))
    here, there = f"this {role} process", "its parent"

    def check(records: Sequence[Record]) -> None:
        manifest.check_installed(parents, records, here=here, there=there)
        if parents.lock:
            drift.check_installed(parents.lock, records)

    booted = boot([one for one in found if one.name in names], allow, config, check)
    manifest.compare(manifest.make_manifest(booted.records), parents, here=here, there=there)
    return Start(booted=booted, allow=allow, lock=parents.lock)
