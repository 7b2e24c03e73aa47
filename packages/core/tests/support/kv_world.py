"""A scheduler with KV connectors that do as they are told, and a worker that counts."""

from __future__ import annotations

import msgspec
from scheduler_world import ABORT, SPEC, World

from kernelet.config.kv import KVTransferConfig
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, SlidingWindowSpec
from kernelet.contracts.kv import Handover, KVConnectorContext, KVIdentity, SchedulerSide, Ticket, TransferResults
from kernelet.contracts.kv_steps import KVPlan, KVReport, decode, encode
from kernelet.contracts.offer import Settings
from kernelet.scheduler.kv.connectors import Connector
from kernelet.scheduler.kv.remote import KVSetup

IDENTITY = KVIdentity(weights="w", dtype="bfloat16", kv_cache_dtype="auto", arithmetic="a")
SLIDING = SlidingWindowSpec(**msgspec.structs.asdict(SPEC), window=8)
TWO_GROUPS = CacheConfigPlan(
    groups=(
        CacheGroup(spec=SPEC, layers=("a",), num_blocks=101),
        CacheGroup(spec=SLIDING, layers=("b",), num_blocks=101),
    )
)


def context(role="both"):
    return KVConnectorContext(
        identity=IDENTITY, role=role, engine_id="e", layouts=(), load_timeout=1.0, max_model_len=8
    )


class Planted(Exception):  # noqa: N818 - as the log has it
    """Raised where a test wants it."""


class Side(SchedulerSide):
    """``answers`` has what a request is told, by its id; ``calls`` what was called.

    ``failing`` has the methods that raise, each with the number of its calls that do not.
    """

    def __init__(self, role="both"):
        super().__init__(Settings(plugin="p"), context(role))
        self.answers = {}
        self.handovers = {}
        self.pending = False
        self.calls = []
        self.steps = []
        self.failing = {}
        self.refuses = None

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        failing = super().__getattribute__("__dict__").get("failing", {})
        if name not in failing:
            return found

        def call(*arguments):
            failing[name] -= 1
            if failing[name] < 0:
                raise Planted(name)
            return found(*arguments)

        call.__name__ = name
        return call

    def on_new_request(self, request):
        self.calls.append(("new", request.request_id))
        if self.refuses is not None:
            raise self.refuses

    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        self.calls.append(("ask", request.request_id, num_computed_tokens))
        answer = self.answers.get(request.request_id)
        return Ticket(num_tokens=answer) if isinstance(answer, int) else answer

    def update_state_after_alloc(self, request, transfer, start, end, block_ids):
        self.calls.append(("load", request.request_id, transfer, start, end))
        self.blocks = block_ids

    def abort(self, request):
        self.calls.append(("abort", request.request_id))

    def cancel(self, transfer):
        self.calls.append(("cancel", transfer))

    def build_connector_meta(self, step):
        self.steps.append(step)
        return str(step.step).encode()

    def request_preempted(self, request):
        self.calls.append(("preempted", request.request_id))

    def request_finished(self, request, transfer, num_computed_tokens, block_ids):
        self.calls.append(("finished", request.request_id, num_computed_tokens))
        self.blocks, self.transfer = block_ids, transfer
        return self.handovers.get(request.request_id, Handover())

    def update_connector_output(self, outputs):
        self.calls.append(("output", list(outputs)))

    def has_pending_work(self):
        return self.pending

    def reset_cache(self):
        self.calls.append(("reset",))

    def shutdown(self):
        self.calls.append(("shutdown",))

    def did(self, what):
        return [call for call in self.calls if call[0] == what]


class KVWorld(World):
    """What ranks tell of the next steps is in ``tells``: by connector, one ``KVReport`` a rank."""

    def __init__(self, *sides, num_ranks=1, requires_delivery=False, **options):
        self.sides = sides or (Side(),)
        self.config = KVTransferConfig(
            load_timeout=30.0, handover_timeout=480.0, load_failure_policy=options.pop("failure", "recompute")
        )
        super().__init__(**options)
        connectors = [
            Connector(name=f"c{index}", side=side, requires_delivery=requires_delivery)
            for index, side in enumerate(self.sides)
        ]
        self.num_ranks = num_ranks
        self.scheduler.connect(
            KVSetup(connectors=connectors, identity=IDENTITY, config=self.config, num_ranks=num_ranks)
        )
        self.tells = {}
        self.outputs = {}

    @property
    def side(self):
        return self.sides[0]

    def tell(self, received=(), sent=(), *, connector="c0", ranks=None, stats=(), meta=b"", failed=""):
        """What ranks tell in the next step."""
        results = TransferResults(received=dict(received), sent=frozenset(sent))
        report = KVReport(results=results, stats=dict(stats), meta=meta, failed=failed)
        told = self.tells.setdefault(connector, [KVReport()] * self.num_ranks)
        for rank in range(self.num_ranks) if ranks is None else ranks:
            told[rank] = report

    def answer(self, plan, errors=()):
        tells, self.tells = self.tells, {}
        names = [f"c{index}" for index in range(len(self.sides))]
        extensions = {name: [encode(one) for one in tells.get(name, [KVReport()] * self.num_ranks)] for name in names}
        return msgspec.structs.replace(super().answer(plan, errors), extensions=extensions)

    def update(self, plan, errors=()):
        outputs = super().update(plan, errors)
        for output in [*self.scheduler.take_failed(), *outputs]:
            if output.finish_reason is not None:
                self.outputs[output.request_id] = output
        return outputs

    def abort(self, name):
        (output,) = self.scheduler.abort([name], ABORT)
        return output

    @property
    def num_free(self):
        return [pool.num_free for pool in self.cache.pools]


def told(plan, connector="c0"):
    """What a step tells the workers of a connector."""
    return decode(plan.extensions[connector], KVPlan)
