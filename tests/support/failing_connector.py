"""A plugin whose KV connector loads and saves nothing, and raises in its fifth step."""

from __future__ import annotations

from kernelet.contracts.kv import KVConnectorOffer, SchedulerSide, TransferResults, WorkerSide
from kernelet.hookspecs import hookimpl

WELL = 4


class Scheduler(SchedulerSide):
    """Counts steps."""

    steps = 0

    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        return None

    def update_state_after_alloc(self, request, transfer, start, end, block_ids):
        raise AssertionError("nothing was promised")

    def build_connector_meta(self, step):
        self.steps += 1
        if self.steps > WELL:
            raise OSError("the network is gone")
        return b""


class Worker(WorkerSide):
    """Does nothing."""

    def bind_connector_metadata(self, meta): ...

    def start_load_kv(self): ...

    def get_finished(self):
        return TransferResults()


class Plugin:
    """Named ``failing_connector:plugin``."""

    @hookimpl
    def kernelet_kv_connectors(self):
        return (
            KVConnectorOffer(
                name="failing", target="failing_connector:Scheduler", worker="failing_connector:Worker", params=()
            ),
        )


plugin = Plugin()
