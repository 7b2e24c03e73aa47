"""What importing a plugin and calling its hooks leaves behind in a process that is not the plugin's."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kernelet.kernel.doctor.messages import Check

SHOWN = 80
"""Characters of what was printed."""


@dataclass(frozen=True, kw_only=True)
class Traces:
    """Threads and signal handlers of this process at one moment."""

    threads: frozenset[threading.Thread]
    handlers: Mapping[signal.Signals, Any]

    @classmethod
    def now(cls) -> Traces:
        """Of this process, as they are."""
        return cls(threads=frozenset(threading.enumerate()), handlers=_handlers())

    def left(self, said: str) -> Iterator[Check]:
        """Warnings about what is other now, and about what was printed."""
        for thread in sorted(set(threading.enumerate()) - self.threads, key=lambda one: one.name):
            ends = "" if thread.daemon else ", which keeps the process from ending"
            text = f"registration left the thread {thread.name!r}{ends}: start it in kernelet_process_started"
            yield Check(what="no thread is left", result="warning", message=text)
        now = _handlers()
        changed = [one.name for one, handler in self.handlers.items() if now[one] is not handler]
        if changed:
            text = f"registration replaced the handler of {', '.join(changed)}, which belongs to the process"
            yield Check(what="signals are left alone", result="warning", message=text)
        if words := " ".join(said.split()):
            shown = words if len(words) <= SHOWN else f"{words[:SHOWN]}..."
            text = f"registration printed {shown!r}: stdout belongs to answers; use logging"
            yield Check(what="nothing is printed", result="warning", message=text)


def _handlers() -> dict[signal.Signals, Any]:
    return {one: signal.getsignal(one) for one in signal.Signals}
