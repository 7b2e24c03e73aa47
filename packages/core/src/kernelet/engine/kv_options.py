"""KV connectors and KV events as users name them, here and in vLLM's form."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

from kernelet.config import KVEventsConfig, KVTransferConfig
from kernelet.config.kv import FAILURE_POLICIES, RECOMPUTE
from kernelet.contracts.kv import ROLES, KVConnectorOffer
from kernelet.contracts.plugins import Owned
from kernelet.engine.options import EngineOptions
from kernelet.errors import ConfigError

logger = logging.getLogger(__name__)

TRANSFER, EVENTS = "--kv-transfer-config", "--kv-events-config"

SEVERAL = "MultiConnector"
"""What stands for several connectors in that form."""

ROLE_PREFIX = "kv_"

NOT_TAKEN = MappingProxyType(
    {
        "kv_connector_module_path": "nothing here is an import path: install a package that offers the connector",
        "enable_permute_local_kv": "layouts are converted where it is needed: leave it out",
        **dict.fromkeys(
            ("kv_buffer_device", "kv_buffer_size", "kv_ip", "kv_port", "kv_rank", "kv_parallel_size"),
            "it is the connector's own affair: set its options in kv_connector_extra_config, or leave it out",
        ),
    }
)
"""Fields of that form that nothing takes, and what to do; null and false are taken."""

Settings = Mapping[str, Mapping[str, object]]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One connector in that form, or several."""

    kv_connector: Annotated[str, msgspec.Meta(min_length=1)]
    kv_role: str | None = None
    kv_connector_extra_config: dict[str, Any] = {}
    kv_load_failure_policy: str | None = None
    engine_id: str | None = None


class EventsEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """KV events in that form."""

    enable_kv_cache_events: bool = False
    publisher: str | None = None
    endpoint: Annotated[str, msgspec.Meta(min_length=1)] = KVEventsConfig.endpoint
    replay_endpoint: str | None = None
    buffer_steps: Count = KVEventsConfig.buffer_steps
    hwm: Count = KVEventsConfig.hwm
    max_queue_size: Count = KVEventsConfig.max_queue_size
    topic: str = KVEventsConfig.topic


@dataclass(frozen=True, kw_only=True)
class KVTransfer:
    """What was decided.

    Attributes:
        config: For every process.
        settings: Of all plugins: those that the operator set, and those of connectors.
        origins: Where the latter stand, by plugin and key.
    """

    config: KVTransferConfig
    settings: Settings = field(default_factory=dict)
    origins: Mapping[tuple[str, str], str] = field(default_factory=dict)


def kv_transfer(options: EngineOptions, select: Callable[[str], Owned[KVConnectorOffer]]) -> KVTransfer:
    """The connectors that run, and their options.

    Args:
        options: What the user says.
        select: Finds a connector by a name of it.

    Raises:
        ConfigError: options that contradict each other, or connectors that do not go together.
        SelectionError: there is no such connector; lists the choices.
    """
    given = options.kv_transfer_config
    if given is None:
        entries, whole = [Entry(kv_connector=name) for name in options.kv_connector], None
    elif options.kv_connector:
        raise ConfigError(f"--kv-connector and {TRANSFER} both name connectors: give one of them")
    else:
        whole = read_entry(given, TRANSFER)
        entries = list(read_several(whole))
    chosen = [select(entry.kv_connector) for entry in entries]
    role = agreed("--kv-role", options.kv_role, [read_role(one) for one in (whole, *entries) if one is not None])
    check_connectors([owned.offer for owned in chosen], role)
    if not chosen:
        check_unused(options)
    policies = [one.kv_load_failure_policy for one in (whole, *entries) if one is not None]
    policy = agreed("--kv-load-failure-policy", options.kv_load_failure_policy, policies) or RECOMPUTE
    if policy not in FAILURE_POLICIES:
        raise ConfigError(f"kv_load_failure_policy: got {policy!r}, expected one of {', '.join(FAILURE_POLICIES)}")
    ids = [one.engine_id for one in (whole, *entries) if one is not None]
    config = KVTransferConfig(
        connectors=tuple(owned.offer.name for owned in chosen),
        role=role,
        load_failure_policy=policy,
        load_timeout=options.kv_load_timeout,
        handover_timeout=options.kv_handover_timeout,
        engine_id=agreed("engine_id", None, ids) or "",
    )
    settings, origins = all_settings(options.set, entries, chosen)
    return KVTransfer(config=config, settings=settings, origins=origins)


def check_unused(options: EngineOptions) -> None:
    """Where no connector runs.

    Raises:
        ConfigError: an option says something of connectors.
    """
    usual = EngineOptions()
    for name in ("kv_role", "kv_load_failure_policy", "kv_load_timeout", "kv_handover_timeout"):
        if getattr(options, name) != getattr(usual, name):
            flag = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{flag} is of KV connectors, and there is none: name one with --kv-connector")


def warn_of_unused(given: Settings, offers: Sequence[Owned[KVConnectorOffer]], chosen: Sequence[str]) -> None:
    """Says which options are of plugins that offer connectors, of which none runs."""
    for plugin in given:
        names = [owned.offer.name for owned in offers if owned.plugin == plugin]
        if names and not set(names) & set(chosen):
            logger.warning("options of %s are set, and %s does not run: name it with --kv-connector", plugin, names[0])


def read_entry(given: object, where: str) -> Entry:
    """One object of that form.

    Raises:
        ConfigError: naming the field.
    """
    if isinstance(given, Mapping):
        for name, advice in NOT_TAKEN.items():
            if given.get(name):
                raise ConfigError(f"{where}: {name}: got {given[name]!r}: {advice}")
        given = {key: value for key, value in given.items() if key not in NOT_TAKEN}
    try:
        return msgspec.convert(given, Entry)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}") from None


def read_several(whole: Entry) -> Iterator[Entry]:
    """The connectors of an entry, which may stand for several.

    Raises:
        ConfigError: naming the field.
    """
    if whole.kv_connector != SEVERAL:
        yield whole
        return
    extra = whole.kv_connector_extra_config
    children = extra.get("connectors")
    if set(extra) != {"connectors"} or not isinstance(children, Sequence) or not children or isinstance(children, str):
        raise ConfigError(
            f"{TRANSFER}: {SEVERAL} needs kv_connector_extra_config with a list of connectors, "
            '{"connectors": [{"kv_connector": ...}, ...]}, and nothing else'
        )
    for index, child in enumerate(children):
        entry = read_entry(child, f"{TRANSFER}: connectors[{index}]")
        if entry.kv_connector == SEVERAL:
            raise ConfigError(f"{TRANSFER}: connectors[{index}] is a {SEVERAL} again: name its connectors here")
        yield entry


def read_role(entry: Entry) -> str | None:
    """A role without that form's prefix.

    Raises:
        ConfigError: there is no such role.
    """
    if entry.kv_role is None:
        return None
    role = entry.kv_role.removeprefix(ROLE_PREFIX)
    if role not in ROLES or role == entry.kv_role:
        known = ", ".join(ROLE_PREFIX + one for one in ROLES)
        raise ConfigError(f"{TRANSFER}: kv_role: got {entry.kv_role!r}, expected one of {known}")
    return role


def agreed(what: str, flag: str | None, given: Sequence[str | None]) -> str | None:
    """The one value of several places.

    Raises:
        ConfigError: there are two.
    """
    said = [one for one in dict.fromkeys((flag, *given)) if one is not None]
    if len(said) > 1:
        raise ConfigError(f"{what}: got {said[0]!r} and {said[1]!r}: one holds for all connectors, give it once")
    return said[0] if said else None


def check_connectors(offers: Sequence[KVConnectorOffer], role: str | None) -> None:
    """Whether connectors go together, in this role.

    Raises:
        ConfigError: naming the first that does not.
    """
    for first, second in itertools.combinations(offers, 2):
        if first.name == second.name:
            raise ConfigError(f"--kv-connector: {first.name} is named twice: name it once")
        if shared := sorted(set(first.params) & set(second.params)):
            raise ConfigError(
                f"--kv-connector: {first.name} and {second.name} both take {shared[0]!r} of kv_transfer_params, so a "
                "request could not say whom it means: run one of them"
            )
    for offer in offers:
        if role is not None and role not in offer.roles:
            known = ", ".join(one for one in ROLES if one in offer.roles)
            raise ConfigError(f"--kv-role {role}: {offer.name} can be {known}: choose one of these, or leave it out")


def all_settings(
    given: Settings, entries: Sequence[Entry], chosen: Sequence[Owned[KVConnectorOffer]]
) -> tuple[Settings, Mapping[tuple[str, str], str]]:
    """Options of plugins with those that stand in connectors' entries, and where the latter stand.

    Raises:
        ConfigError: one is given twice.
    """
    found = {plugin: dict(keys) for plugin, keys in given.items()}
    origins: dict[tuple[str, str], str] = {}
    for entry, owned in zip(entries, chosen, strict=True):
        for name, value in entry.kv_connector_extra_config.items():
            key = owned.offer.extra_config.get(name, name)
            mine = found.setdefault(owned.plugin, {})
            where = origins[owned.plugin, key] = f"{TRANSFER}: kv_connector_extra_config.{name}"
            if key in mine:
                raise ConfigError(f"{where} is {owned.plugin}.{key}, which is set already: give it once")
            is_whole = isinstance(value, float) and value.is_integer()  # as JSON's 1e9 is
            mine[key] = int(value) if is_whole else value
    return found, origins


def kv_events(options: EngineOptions) -> KVEventsConfig:
    """What is published of the prefix cache.

    Raises:
        ConfigError: naming the field.
    """
    if options.kv_events_config is None:
        return KVEventsConfig()
    try:
        entry = msgspec.convert(dict(options.kv_events_config), EventsEntry)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{EVENTS}: {error}") from None
    if entry.publisher not in {None, "null", "zmq"}:
        raise ConfigError(f"{EVENTS}: publisher: got {entry.publisher!r}, expected zmq or null")
    if entry.enable_kv_cache_events and not options.enable_prefix_caching:
        raise ConfigError(f"{EVENTS}: without prefix caching nothing happens: leave out --no-enable-prefix-caching")
    values = {name: value for name, value in msgspec.structs.asdict(entry).items() if name != "publisher"}
    enabled = entry.enable_kv_cache_events and entry.publisher != "null"
    return KVEventsConfig(
        **{**values, "enable_kv_cache_events": enabled, "replay_endpoint": entry.replay_endpoint or None}
    )
