"""Hooks of every kind that a service uses; each notes that it was called."""

from __future__ import annotations

from kernelet.contracts.cache import CachePolicyOffer
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.sampling import LogitsProcessorOffer
from kernelet.contracts.serving import EndpointOffer, ServerOffer
from kernelet.contracts.stats import StatLoggerOffer
from kernelet.hookspecs import hookimpl
from recorder.notes import note

note("module", __name__)


class Recorder:
    """See the package."""

    name = "recorder"

    @hookimpl
    def kernelet_options(self):
        note("hook", "options")
        return PluginOptions()

    @hookimpl
    def kernelet_configure(self, config):
        note("hook", "configure")
        return ()

    @hookimpl
    def kernelet_process_started(self, role, rank):
        note("hook", "process_started")
        note("role", f"{role} {rank}")

    @hookimpl
    def kernelet_process_stopped(self, role, rank):
        note("hook", "process_stopped")

    @hookimpl
    def kernelet_engine_started(self):
        note("hook", "engine_started")

    @hookimpl
    def kernelet_engine_stopped(self):
        note("hook", "engine_stopped")

    @hookimpl
    def kernelet_servers(self):
        note("hook", "servers")
        return (ServerOffer(name="recorded", target="recorder.server:RecordedServer", paths=("ready", "generate")),)

    @hookimpl
    def kernelet_endpoints(self):
        note("hook", "endpoints")
        return (EndpointOffer(name="beside", target="recorder.endpoint:RecordedEndpoint", prefix="/recorded"),)

    @hookimpl
    def kernelet_stat_loggers(self):
        note("hook", "stat_loggers")
        return (StatLoggerOffer(name="recorded", target="recorder.stats:RecordedLogger", api="2.0"),)

    @hookimpl
    def kernelet_schedulers(self):
        note("hook", "schedulers")
        return (SchedulerOffer(name="recorded", target="recorder.policy:RecordedPolicy"),)

    @hookimpl
    def kernelet_cache_policies(self):
        note("hook", "cache_policies")
        return (CachePolicyOffer(name="recorded", target="recorder.cache:RecordedEviction", api="2.0"),)

    @hookimpl
    def kernelet_logits_processors(self):
        note("hook", "logits_processors")
        return (LogitsProcessorOffer(name="recorded", target="recorder.logits:RecordedProcessor"),)


plugin = Recorder()
