"""The null platform with ranks that do what the model's configuration says: ``{"faults": {"load": 1}}``."""

from __future__ import annotations

import os
import signal
import time

import msgspec

from kernelet.config import PluginsConfig
from kernelet.contracts.executor import LayerPlan, TransfersKV
from kernelet.contracts.kv_start import KVStarted
from kernelet.contracts.platform import PlatformOffer
from kernelet.errors import ConfigError
from kernelet.hookspecs import hookimpl
from kernelet.kernel import Kernel
from kernelet.testing.null.plugin import NullPlugin
from kernelet.testing.null.worker import NullWorker


class StrangeError(Exception):
    """Only this module knows it."""


class RankWorker(NullWorker, TransfersKV):
    def __init__(self, context):
        super().__init__(context)
        self.rank = context.rank
        self.faults = context.config.model.hf_config.get("faults", {})
        if self.has("make"):
            raise StrangeError("not today")

    def has(self, fault):
        return self.faults.get(fault) == self.rank

    def load_model(self):
        if self.has("load"):
            raise ConfigError("9 heads cannot be divided")

    def determine_available_memory(self):
        return super().determine_available_memory() >> self.rank

    def get_plan(self):
        plan = super().get_plan()
        if not self.has("plan"):
            return plan
        return msgspec.structs.replace(
            plan, layers=(LayerPlan(name="model.layers.0", role="attention", choice="other"),)
        )

    def start_kv_transfer(self, start):
        if self.has("connect"):
            raise ConfigError("the KV connector 'x' serves 1 rank(s)")
        return KVStarted(layouts=(), handshakes={start.engine_id: bytes([self.rank])})

    def control(self, plugin, name, payload):
        if name == "raise" and self.rank == int(payload):
            raise StrangeError("not this one")
        return [name, payload + bytes([self.rank])] if plugin == "platform-ranks" else ()

    def execute_model(self, plan):
        if self.has("killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.has("stopped"):
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.has("exit"):
            os._exit(3)
        super().execute_model(plan)

    def sample(self, plan):
        if self.has("lost"):  # its peer is gone, which is how it notices
            time.sleep(0.2)
            raise RuntimeError("connection closed by peer")
        if self.has("step"):
            raise StrangeError("no such row")
        result = super().sample(plan)
        extensions = {"platform-ranks": [bytes([self.rank])]} if "extensions" in self.faults else {}
        return msgspec.structs.replace(result, extensions=extensions)


class RankPlugin(NullPlugin):
    name = "platform-ranks"

    @hookimpl
    def kernelet_platforms(self):
        (offer,) = super().kernelet_platforms()
        fields = {field: getattr(offer, field) for field in ("target", "probe", "config")}
        return (PlatformOffer(name="ranks", worker=f"{__name__}:RankWorker", **fields),)

    @hookimpl
    def kernelet_model_architectures(self):
        return ()


plugin = RankPlugin()


def make_kernel(plugin_given="rank_plugin:plugin"):
    """A kernel of this plugin alone."""
    return Kernel.boot(PluginsConfig(allow=(), platform="ranks"), plugins=[plugin_given])
