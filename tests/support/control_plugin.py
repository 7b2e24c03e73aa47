"""The null platform with objects that take control calls: a scheduling policy, and the worker of each rank.

``control(NAME, "note", FOLDER)`` writes a file for each object that was called.
"""

from __future__ import annotations

import os
from pathlib import Path

from kernelet.contracts.executor import Control, SchedulerOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.errors import ParameterError
from kernelet.hookspecs import hookimpl
from kernelet.scheduler.policies import FCFSPolicy
from kernelet.testing.null.plugin import NullPlugin
from kernelet.testing.null.worker import NullWorker

NAME = "control_plugin:plugin"
"""An import string is its plugin's name."""


def answer(who: str, name: str, payload: bytes) -> bytes:
    """Notes the call."""
    if name != "note":
        raise ParameterError("name", f"{who} knows no call {name!r}")
    Path(os.fsdecode(payload), f"{who}.{os.getpid()}").touch()
    return who.encode()


class ControlledPolicy(FCFSPolicy, Control):
    def control(self, name, payload):
        return answer("policy", name, payload)


class ControlledWorker(NullWorker):
    def control(self, plugin, name, payload):
        return [answer(f"rank-{self._context.rank}", name, payload)] if plugin == NAME else ()


class ControlPlugin(NullPlugin):
    name = "platform-control"

    @hookimpl
    def kernelet_platforms(self):
        (offer,) = super().kernelet_platforms()
        fields = {field: getattr(offer, field) for field in ("target", "probe", "config")}
        return (PlatformOffer(name="control", worker=f"{__name__}:ControlledWorker", **fields),)

    @hookimpl
    def kernelet_schedulers(self):
        return (SchedulerOffer(name="controlled", priority=-1, target=f"{__name__}:ControlledPolicy"),)


plugin = ControlPlugin()
