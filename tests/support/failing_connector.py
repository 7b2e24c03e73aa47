"""A plugin whose KV connectors load and save nothing, and raise in their fifth step: ``failing``, and on rank 1
``failing-rank``."""

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


class Quiet(Scheduler):
    """Has work."""

    def build_connector_meta(self, step):
        return b""


class RankOne(Worker):
    """Raises where it is rank 1."""

    steps = 0

    def start_load_kv(self):
        self.steps += 1
        if self.context.rank == 1 and self.steps > WELL:
            raise OSError("the network of rank 1 is gone")


class Plugin:
    """Named ``failing_connector:plugin``."""

    @hookimpl
    def kernelet_kv_connectors(self):
        return tuple(
            KVConnectorOffer(name=name, target=f"failing_connector:{side}", worker=f"failing_connector:{worker}")
            for name, side, worker in (("failing", "Scheduler", "Worker"), ("failing-rank", "Quiet", "RankOne"))
        )


plugin = Plugin()
