"""Loads a distribution's plugins in a process of its own, twice, and in children of that, and says what it saw.

Imports nothing that a plugin may not import: what is loaded here is allowed there.
"""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from kernelet.config import EngineConfig, ModelConfig, PluginsConfig
from kernelet.contracts.offer import Offer, Option
from kernelet.errors import ConfigError, PluginError
from kernelet.kernel.digest import offer_digest
from kernelet.kernel.discovery import Candidate, discover
from kernelet.kernel.failure import Contained
from kernelet.kernel.loader import builtin_candidate, import_plugin
from kernelet.kernel.manifest import make_manifest
from kernelet.kernel.record import Record
from kernelet.kernel.settings import parse
from kernelet.kernel.start import Start, start
from kernelet.testing.interpreter import call_forked
from kernelet.testing.registration.state import Watch, differences, snapshot
from kernelet.testing.registration.targets import complaints

METHODS = ("fork", "spawn")
TRIES = 3
"""How often a cost is taken: the least is what it is on a machine that does nothing else."""


class OfferFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the suite judges of an offer."""

    name: str
    domain: str
    label: str
    api: str
    requires: list[str]
    conflicts: list[str]


class Facts(msgspec.Struct, kw_only=True):
    """What was seen.

    Attributes:
        failure: Why a plugin does not load; nothing else is known then.
        heavy: Modules that registration asked for and must not.
        seconds: What importing the plugins and calling their hooks cost.
        hooks: Hooks that they implement.
        changed: What their hooks changed.
        unequal: What the second call of the hooks returned otherwise.
        elsewhere: By way of starting a child: what is not equal there.
        offers: Their offers.
        options: What is wrong with their options.
        unplain: Why an offer has no digest.
        targets: What is wrong with what the offers name.
    """

    failure: str = ""
    heavy: list[str] = []
    seconds: float = 0.0
    hooks: list[str] = []
    changed: list[str] = []
    unequal: list[str] = []
    elsewhere: dict[str, list[str]] = {}
    offers: list[OfferFacts] = []
    options: list[str] = []
    unplain: str = ""
    targets: list[str] = []


def look(plugins: Sequence[str], packages: Sequence[str], absent: Sequence[str]) -> Any:
    """For ``call_fresh``: the facts, as plain data.

    Args:
        plugins: Names of plugins of one distribution.
        packages: Its top-level packages, and those of packages for kernelet that it builds on.
        absent: Modules that need not be here.
    """
    facts = Facts()
    begin(())  # what the core imports late
    found = [one for one in (builtin_candidate(), *discover().candidates) if one.name in plugins]
    facts.seconds = min(call_forked(lambda: cost(found)) for _ in range(TRIES))
    process = snapshot(())
    with Watch(packages) as watch:
        load(found)
        imported = snapshot(packages)
        first = begin(plugins)
        records = mine(first, plugins)
        facts.failure = next((record.message() for record in records if not record.active), "")
        if not facts.failure:
            asked = [ask(first, plugins), ask(begin(plugins), plugins)]
            facts.changed = differences(imported, snapshot(packages))
            facts.unequal = [name for name in asked[0] if asked[0][name] != asked[1].get(name)]
    facts.changed += differences(process, snapshot(()))
    facts.heavy, facts.changed = watch.heavy, list(dict.fromkeys([*watch.touched, *facts.changed]))
    if not facts.failure:
        judge(facts, records, absent)
        facts.elsewhere = {method: unequal_elsewhere(method, plugins, asked[0]) for method in METHODS}
    return msgspec.to_builtins(facts)


def load(candidates: Sequence[Candidate]) -> None:
    """Imports plugins; what one raises is in its record, once there is one."""
    for candidate in candidates:
        with Contained():
            import_plugin(candidate)


def cost(candidates: Sequence[Candidate]) -> float:
    """Seconds of importing plugins and calling their hooks, beyond what the core takes without them."""
    started = time.perf_counter()
    begin(())
    without = time.perf_counter() - started
    started = time.perf_counter()
    load(candidates)
    begin([one.name for one in candidates])
    return time.perf_counter() - started - without


def begin(plugins: Sequence[str]) -> Start:
    """The core and these plugins, loaded as by a process that is told to."""
    return start(PluginsConfig(allow=tuple(plugins)), (), None, report_only=True)


def mine(started: Start, plugins: Sequence[str]) -> list[Record]:
    """What became of them."""
    return [record for record in started.booted.records if record.name in plugins]


def ask(started: Start, plugins: Sequence[str]) -> dict[str, str]:
    """What hooks return, as text by name: offers, options, changes of the configuration, the manifest's entry."""
    found = {}
    for record in mine(started, plugins):
        found[f"the options of {record.name}"] = repr(sorted(record.schema.items()))
        for kind, offer, _ in record.offers:
            found[f"the {kind.label} {offer.name!r}"] = as_text(offer)
    config = EngineConfig(model=some_model())
    for answer in started.booted.hooks.lifecycle.configure(config):
        if answer.plugin in plugins:
            failure = "" if answer.failure is None else answer.failure.reason
            found[f"what {answer.plugin} asks of the configuration"] = f"{answer.value!r} {failure}"
    with Contained() as box:
        for entry in make_manifest(mine(started, plugins)).plugins:
            found[f"the manifest's entry of {entry.name}"] = repr(msgspec.structs.replace(entry, path=""))
    if box.failure:
        found["the manifest's entry"] = box.failure.reason
    return found


def as_text(offer: Offer) -> str:
    """Every field of an offer; sets in a fixed order."""
    values = {one.name: getattr(offer, one.name) for one in fields(offer)}
    plain = {name: sorted(map(repr, v)) if isinstance(v, set | frozenset) else v for name, v in values.items()}
    return f"{type(offer).__qualname__} {plain!r}"


def some_model() -> ModelConfig:
    """A model that there is not."""
    return ModelConfig(
        model="none",
        path="",
        architecture="NoneForCausalLM",
        hf_config={},
        dtype="float32",
        vocab_size=100,
        max_model_len=100,
        num_layers=1,
    )


def judge(facts: Facts, records: Sequence[Record], absent: Sequence[str]) -> None:
    """Fills in what one process tells."""
    facts.hooks = sorted({hook for record in records for hook in record.hooks})
    for record in records:
        facts.options += list(wrong_options(record.name, record.schema.items()))
        facts.targets += complaints(record, absent)
        for kind, offer, _ in record.offers:
            facts.offers.append(
                OfferFacts(
                    name=offer.name,
                    domain=kind.domain,
                    label=kind.label,
                    api=offer.api,
                    requires=list(offer.requires),
                    conflicts=list(offer.conflicts),
                )
            )
            try:
                offer_digest(offer)
            except (PluginError, TypeError, ValueError) as error:
                facts.unplain = facts.unplain or f"the {kind.label} {offer.name!r}: {error}"


def wrong_options(plugin: str, options: Iterable[tuple[str, Option]]) -> Iterable[str]:
    """Options that an operator cannot understand, or whose default is not what comes of writing it out."""
    for key, option in options:
        name = f"{plugin}.{key}"
        if not key.isidentifier() or key != key.lower():
            yield f"the option {name} must have a name of small letters, digits and underscores"
        if not option.help.strip():
            yield f"the option {name} needs a help: one line for people"
        if option.default is None and "default" not in option.help.lower():
            yield f"the option {name} needs a default, or a help that says what its default comes to"
        for value in (*([] if option.default is None else [option.default]), *option.choices):
            try:
                same = str(parse(option, str(value))) == str(value)
            except (ConfigError, ValueError):
                same = False
            if not same:
                yield f"the option {name} must take {value!r} when it is written out, as --set writes it"


# --- children ------------------------------------------------------------------------------------


def unequal_elsewhere(method: str, plugins: Sequence[str], expected: dict[str, str]) -> list[str]:
    """What a child process sees otherwise."""
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads, from Python 3.12 on
        child = context.Process(target=send, args=(theirs, list(plugins)))
        child.start()
    theirs.close()
    try:
        found = ours.recv()
    except EOFError:
        found = {}
    child.join()
    return [name for name in sorted(expected.keys() | found.keys()) if expected.get(name) != found.get(name)]


def send(connection: Connection, plugins: Sequence[str]) -> None:
    """The child's side."""
    connection.send(ask(begin(plugins), plugins))
    connection.close()
