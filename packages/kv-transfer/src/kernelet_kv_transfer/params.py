"""``kv_transfer_params``: what an engine that prefilled says, through client or router, to the one that decodes.

Field names are those of vLLM's NIXL connector where it has one; what is ours is marked so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kernelet.errors import ParameterError

FIELD = "kv_transfer_params"
TO_DECODE = "do_remote_decode"
"""Asks the engine that prefills to keep the prompt's keys and values for another."""
TO_PREFILL = "do_remote_prefill"
"""Asks the engine that decodes to take them; the other keys say from where."""


Name = Annotated[str, Meta(min_length=1, max_length=256)]
Port = Annotated[int, Meta(ge=1, le=65535)]
Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


class Remote(msgspec.Struct, frozen=True, kw_only=True):
    """Where a prompt's keys and values are.

    Attributes:
        remote_engine_id: The engine that has them.
        remote_host: Where its first rank listens.
        remote_port: Its port.
        tp_size: Its number of ranks.
        remote_num_tokens: Tokens that it has (ours).
        remote_lease: Number of the lease (ours).
        remote_generation: The lease's secret: another lease of the same number has another (ours).
        remote_ranks: Host and port of each rank (ours).
    """

    remote_engine_id: Name
    remote_host: Name
    remote_port: Port
    tp_size: Annotated[int, Meta(ge=1)]
    remote_num_tokens: Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]
    remote_lease: Number
    remote_generation: Name
    remote_ranks: tuple[tuple[Name, Port], ...]


KEYS = (TO_DECODE, TO_PREFILL, "remote_request_id", "remote_block_ids", *Remote.__struct_fields__)
"""All that connectors of this protocol read or give."""


def asks_for_handover(params: Mapping[str, Any] | None) -> bool:
    """Whether another engine will decode."""
    return bool(params) and (params or {}).get(TO_DECODE) is True


def remote_of(params: Mapping[str, Any] | None) -> Remote | None:
    """What is to be taken from another engine; None: nothing.

    Raises:
        ParameterError: a key is missing, of the wrong type, out of range, or contradicts another.
    """
    if not params:
        return None
    for key in (TO_PREFILL, TO_DECODE):
        if not isinstance(params.get(key, False), bool | None):
            raise ParameterError(f"{FIELD}.{key}", "must be true or false")
    if not params.get(TO_PREFILL):
        return None
    if params.get(TO_DECODE):
        raise ParameterError(f"{FIELD}.{TO_DECODE}", f"must be false where {TO_PREFILL} is true")
    advice = "give the decoding engine kv_transfer_params of the prefilling engine's answer as they are"
    for key in Remote.__struct_fields__:
        if params.get(key) is None:
            raise ParameterError(f"{FIELD}.{key}", f"is missing: {advice}")
    try:
        remote = msgspec.convert(dict(params), Remote)
    except msgspec.ValidationError as error:
        says, _, place = str(error).partition(" - at `$.")
        raise ParameterError(f"{FIELD}.{place.rstrip('`')}", f"{says}: {advice}") from None
    names = {"remote_engine_id": remote.remote_engine_id, "remote_generation": remote.remote_generation}
    names |= {f"remote_ranks[{rank}]": host for rank, (host, _) in enumerate(remote.remote_ranks)}
    for key, name in names.items():
        if not name.isprintable():  # it is from a client, and stands in logs
            raise ParameterError(f"{FIELD}.{key}", f"must be text of one line: {advice}")
    if len(remote.remote_ranks) != remote.tp_size:
        raise ParameterError(
            f"{FIELD}.remote_ranks", f"has {len(remote.remote_ranks)}, and tp_size is {remote.tp_size}: {advice}"
        )
    if (remote.remote_host, remote.remote_port) != remote.remote_ranks[0]:
        raise ParameterError(f"{FIELD}.remote_host", f"and remote_port are not the first of remote_ranks: {advice}")
    return remote


def handover_params(*, remote: Remote, request_id: str, block_ids: tuple[tuple[int, ...], ...]) -> Mapping[str, Any]:
    """For the answer of the engine that prefilled; JSON's types only."""
    return {
        TO_PREFILL: True,
        TO_DECODE: False,
        "remote_request_id": request_id,
        "remote_block_ids": [list(ids) for ids in block_ids],
        **msgspec.to_builtins(remote, builtin_types=()),
    }
