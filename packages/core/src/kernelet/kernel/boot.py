"""Boot: discover, check, load, ask for options and offers, register. One plugin's failure is rolled back alone."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kernelet.config import PluginsConfig
from kernelet.contracts.offer import Settings
from kernelet.errors import DuplicatePluginError, IncompatiblePluginError, PluginError
from kernelet.kernel import settings as plugin_settings
from kernelet.kernel.allow import AllowList
from kernelet.kernel.compat import core_version, incompatibility, upgrade_hint
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.failure import Contained, Failure
from kernelet.kernel.guard import Guarded, Watch
from kernelet.kernel.hooks import Hooks
from kernelet.kernel.host import Answer, PluginHost
from kernelet.kernel.kinds import KINDS
from kernelet.kernel.loader import BUILTIN, import_plugin
from kernelet.kernel.offers import checked, why_inactive
from kernelet.kernel.record import Record
from kernelet.kernel.registry import Registry
from kernelet.kernel.report import State
from kernelet.kernel.settings import NO_ORIGINS, Origins

logger = logging.getLogger("kernelet.kernel")


@dataclass(kw_only=True)
class Booted:
    """The outcome: every plugin's record, the hooks of the active ones, their offers and settings."""

    records: tuple[Record, ...]
    hooks: Hooks
    host: PluginHost
    registry: Registry
    settings: dict[str, Settings]


def boot(
    candidates: Sequence[Candidate],
    allow: AllowList,
    config: PluginsConfig,
    before_import: Callable[[Sequence[Record]], None] = lambda _: None,
) -> Booted:
    """Loads what may be loaded.

    Args:
        candidates: What was found and handed over.
        allow: What may be loaded, and what must be.
        config: Names and options.
        before_import: Is shown what would run and what would not, and may stop the start.

    Raises:
        PluginError: a plugin that was asked for by name cannot run; the message says why and what to do.
        ConfigError: an option that no plugin has.
    """
    records = tuple(Record(candidate=candidate) for candidate in candidates)
    _check(records, allow)
    before_import(records)
    with Watch() as watch:
        for record in records:
            if record.state is State.ACTIVE:
                _import(record, watch)
        host, registry = _register_all(records, allow, config, watch)
    registry.seal()
    _judge(records, allow)
    return Booted(
        records=records,
        hooks=Hooks(host),
        host=host,
        registry=registry,
        settings=resolve_settings(records, config.settings),
    )


def resolve_settings(
    records: Sequence[Record], given: Mapping[str, Mapping[str, object]], origins: Origins = NO_ORIGINS
) -> dict[str, Settings]:
    """Settings of every plugin that runs.

    Raises:
        ConfigError: an option that no plugin has, or of the wrong type.
    """
    schemas = {record.name: record.schema for record in records if record.active}
    reports = [record.report() for record in records]
    absent = {report.name: report.reason for report in reports if report.state is not State.ACTIVE}
    return plugin_settings.resolve(schemas, given, absent, origins)


def _check(records: Sequence[Record], allow: AllowList) -> None:
    """Everything that metadata alone decides; nothing is imported."""
    by_name: dict[str, list[Record]] = defaultdict(list)
    core = core_version()
    for record in records:
        by_name[record.name].append(record)
        candidate = record.candidate
        always = candidate.entry_point == BUILTIN or candidate.handed
        if refusal := allow.refusal(candidate.name, always=always):
            record.refuse(State.BLOCKED, refusal)
        elif candidate.problem:
            record.refuse(State.FAILED, candidate.problem)
        elif mismatch := incompatibility(candidate, core):
            record.refuse(State.INCOMPATIBLE, f"{mismatch}; it was not imported", upgrade_hint(candidate))
    for name, same in by_name.items():
        rivals = [record for record in same if record.state is not State.BLOCKED]
        if len(rivals) > 1:
            _refuse_rivals(name, rivals)


def _refuse_rivals(name: str, rivals: Sequence[Record]) -> None:
    claims = " and ".join(f"{r.candidate.distribution or 'an object'} {r.candidate.version}".strip() for r in rivals)
    others = [record for record in rivals if record.candidate.entry_point != BUILTIN]
    if len(others) < len(rivals):
        text, fix = f"the name {name!r} is the core's own; {claims} claim it", "give the other plugin another name"
    else:
        text = f"the name {name!r} is claimed by {claims}; neither was imported"
        fix = f"uninstall one of them, or run without both: KERNELET_PLUGINS_BLOCK={name}"
    if any(record.candidate.handed for record in others):
        fix += "; a plugin that is handed over as an object is called by its attribute `name`"
    error = DuplicatePluginError(text)
    for record in others:
        record.refuse(State.FAILED, text, fix, Failure(error=error))


def _import(record: Record, watch: Watch) -> None:
    plugin, doing = None, f"importing {record.candidate.short}"
    watch.on(doing, record.name)
    with Contained() as box, Guarded(doing):
        if record.candidate.file:
            record.content_hash()  # of what is imported now
        plugin = import_plugin(record.candidate)
    if box.failure:
        fail(record, box.failure)
    else:
        record.plugin = plugin


def fail(record: Record, failure: Failure) -> None:
    """Notes what a plugin raised; the caller unregisters it."""
    if isinstance(failure.error, IncompatiblePluginError):
        record.refuse(State.INCOMPATIBLE, failure.reason, upgrade_hint(record.candidate), failure)
        return
    without = f"run without it: KERNELET_PLUGINS_BLOCK={record.name}"
    record.refuse(State.FAILED, failure.reason, f"{failure.fix}, or {without}", failure)


def _register_all(
    records: Sequence[Record], allow: AllowList, config: PluginsConfig, watch: Watch
) -> tuple[PluginHost, Registry]:
    """Registers hooks and offers, starting over without a plugin that added hook specifications and then failed."""
    while True:
        host, registry = PluginHost(watch), Registry()
        authors = _add_specs(records, host)
        _register_hooks(records, host)
        hooks = Hooks(host)
        _ask_options(records, host, hooks)
        _ask_offers(records, host, hooks, allow, config)
        _add_offers(records, host, registry, allow)
        if all(record.active for record in authors):
            return host, registry


def _active(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.active]


def _add_specs(records: Sequence[Record], host: PluginHost) -> list[Record]:
    """Lets plugins add domains before anybody's hooks are checked; returns those that tried."""
    authors = []
    for record in _active(records):
        if not hasattr(record.plugin, "kernelet_hookspecs"):
            continue
        with Contained() as box:
            probe = PluginHost()
            probe.register(record.name, record.plugin, only="kernelet_hookspecs")
            for answer in Hooks(probe).lifecycle.hookspecs():
                if answer.failure:
                    raise answer.failure.error
                for holder in answer.value or ():
                    host.add_specs(holder)
        if box.failure:
            fail(record, box.failure)
        authors.append(record)
    return authors


def _register_hooks(records: Sequence[Record], host: PluginHost) -> None:
    for record in _active(records):
        with Contained() as box:
            record.hooks = host.register(record.name, record.plugin)
        if box.failure:
            host.unregister(record.name)
            fail(record, box.failure)


def _drop(record: Record, host: PluginHost, failure: Failure) -> None:
    host.unregister(record.name)
    fail(record, failure)


def _ask_options(records: Sequence[Record], host: PluginHost, hooks: Hooks) -> None:
    by_name = {record.name: record for record in _active(records)}
    for answer in hooks.lifecycle.options():
        record, failure = by_name[answer.plugin], answer.failure
        if failure is None:
            with Contained() as box:
                record.schema = plugin_settings.check_options(answer.value)
            failure = box.failure
        if failure:
            _drop(record, host, failure)


def _ask_offers(
    records: Sequence[Record], host: PluginHost, hooks: Hooks, allow: AllowList, config: PluginsConfig
) -> None:
    by_name = {record.name: record for record in _active(records)}
    for record in by_name.values():
        record.offers = []
    for kind in KINDS:
        answers: list[Answer[object]] = kind.collect(hooks)
        for answer in answers:
            record, failure = by_name[answer.plugin], answer.failure
            named = allow.names(record.candidate)
            with Contained() as box:
                if failure is None:
                    record.offers.extend(
                        (kind, offer, why_inactive(kind, offer, record.name, config, named=named))
                        for offer in checked(kind, answer.value)
                    )
            if failure := failure or box.failure:
                _drop(record, host, failure)


def _add_offers(records: Sequence[Record], host: PluginHost, registry: Registry, allow: AllowList) -> None:
    """Who comes first owns a name: the core, then what was asked for by name, then the rest, each by name."""
    _replace_by_files(records)
    for record in sorted(
        _active(records), key=lambda r: (r.candidate.entry_point != BUILTIN, not allow.must_load(r.candidate), r.name)
    ):
        with Contained() as box:
            registry.add(record.name, [(kind, offer) for kind, offer, inactive in record.offers if not inactive])
        if box.failure:
            _drop(record, host, box.failure)


def _replace_by_files(records: Sequence[Record]) -> None:
    """Of one name a file's offer runs, as the operator named the file; a package keeps its others."""
    files = {
        (kind.scope or kind.domain, offer.name): record.candidate.file
        for record in _active(records)
        if record.candidate.file
        for kind, offer, _ in record.offers
    }
    for record in _active(records):
        if record.candidate.file or record.candidate.entry_point == BUILTIN:
            continue
        for place, (kind, offer, inactive) in enumerate(record.offers):
            file = files.get((kind.scope or kind.domain, offer.name))
            if file and not inactive:
                record.offers[place] = (kind, offer, f"replaced by that of {file}")
                logger.warning(
                    "%s %r of plugin %r is replaced by that of %s", kind.label, offer.name, record.name, file
                )


def _judge(records: Sequence[Record], allow: AllowList) -> None:
    """Stops the start for a plugin that was asked for by name; warns about one that is merely installed."""
    for record in records:
        if record.state not in {State.FAILED, State.INCOMPATIBLE}:
            continue
        if allow.must_load(record.candidate):
            raise _stop(record, allow) from (record.failure.error if record.failure else None)
        logger.warning("%s", record.message())


def _stop(record: Record, allow: AllowList) -> PluginError:
    kinds: dict[type[BaseException], type[PluginError]] = {
        DuplicatePluginError: DuplicatePluginError,
        IncompatiblePluginError: IncompatiblePluginError,
    }
    cause = type(record.failure.error) if record.failure else BaseException
    error = IncompatiblePluginError if record.state is State.INCOMPATIBLE else kinds.get(cause, PluginError)
    why = (
        "It was asked for by name" if allow.names(record.candidate) else "The parent process or the lock file names it"
    )
    return error(f"{record.message()}. {why}, so nothing starts without it.")
