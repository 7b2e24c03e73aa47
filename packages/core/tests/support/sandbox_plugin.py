"""A plugin that remembers which processes it was told of."""

from __future__ import annotations

from kernelet.hookspecs import hookimpl

HEARD: list[tuple[str, int]] = []


@hookimpl
def kernelet_process_started(role, rank):
    HEARD.append((str(role), rank))


def heard(payload: bytes) -> bytes:
    return repr(HEARD).encode()


class _Plugin:
    name = "helper-plugin"
    kernelet_process_started = staticmethod(kernelet_process_started)


HELPER = _Plugin()
