"""What the null worker holds of each request, and the checks of a step against it."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelet.contracts.executor import NewRequest, ScheduledRequest, StepPlan
from kernelet.testing.null.store import GroupStore, PlanError
from kernelet.testing.null.tokens import START, digests, extend


@dataclass
class HeldRequest:
    """A request as the worker knows it.

    Attributes:
        digests: Digest of each prefix of ``token_ids``.
        tables: Block ids of each group.
    """

    data: NewRequest
    token_ids: list[int]
    tables: tuple[list[int], ...]
    num_computed: int
    digests: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.digests = digests(self.token_ids)

    def append(self, token: int) -> None:
        """Takes up a sampled token."""
        self.token_ids.append(token)
        self.digests.append(extend(self.digests[-1] if self.digests else START, token))


class Batch:
    """The requests of a worker. Every method raises PlanError where the plan contradicts what it holds.

    Args:
        stores: One a group.
        ahead: Requests may have blocks for tokens to come: those of which less was loaded than promised have.
    """

    def __init__(self, stores: tuple[GroupStore, ...], *, ahead: bool = False) -> None:
        self._stores = stores
        self._ahead = ahead
        self.held: dict[str, HeldRequest] = {}
        self._next_step: int | None = None

    def apply(self, plan: StepPlan) -> None:
        """Takes over the difference that a plan states, up to the block tables of what it schedules."""
        if self._next_step is not None and plan.step != self._next_step:
            raise PlanError(f"step {plan.step} follows step {self._next_step - 1}")
        self._next_step = plan.step + 1
        released: dict[str, HeldRequest] = {}
        for request_id in (*plan.finished, *plan.preempted):
            if request_id not in self.held:
                raise PlanError(f"{request_id} is released, but the worker does not hold it")
            released[request_id] = self.held.pop(request_id)
        scheduled = [entry.request_id for entry in plan.scheduled]
        if len(set(scheduled)) != len(scheduled):
            raise PlanError("a request is scheduled twice in a step")
        for new in plan.new:
            self._take_up(new, set(scheduled))
            if new.request_id in released:
                self._correct(self.held[new.request_id], released[new.request_id])
        for entry in plan.scheduled:
            self._extend(entry)

    def check_writers(self, plan: StepPlan) -> None:
        """No block that a request writes in this step is one that another request still needs."""
        for index, store in enumerate(self._stores):
            writers: dict[int, str] = {}
            for entry in plan.scheduled:
                held = self.held[entry.request_id]
                end = entry.num_computed_tokens + entry.num_tokens
                for block in store.blocks(held.tables[index], entry.num_computed_tokens, end):
                    if writers.setdefault(block, entry.request_id) != entry.request_id:
                        raise PlanError(f"{writers[block]} and {entry.request_id} both write block {block} in a step")
            for request_id, held in self.held.items():
                first = store.first_seen(held.num_computed) // store.block_size
                for block in held.tables[index][first:]:
                    if writers.get(block, request_id) != request_id:
                        raise PlanError(f"{writers[block]} writes block {block}, which {request_id} needs")

    def _take_up(self, new: NewRequest, scheduled: set[str]) -> None:
        if new.request_id in self.held:
            raise PlanError(f"{new.request_id} is new, but the worker holds it")
        if new.request_id not in scheduled:
            raise PlanError(f"{new.request_id} is new, but not scheduled")
        if len(new.block_ids) != len(self._stores):
            raise PlanError(f"{new.request_id} has {len(new.block_ids)} block lists for {len(self._stores)} groups")
        if not 0 < new.num_prompt_tokens <= len(new.token_ids):
            raise PlanError(f"{new.request_id} has {len(new.token_ids)} tokens, {new.num_prompt_tokens} of them prompt")
        self.held[new.request_id] = HeldRequest(
            data=new,
            token_ids=list(new.token_ids),
            tables=tuple(list(blocks) for blocks in new.block_ids),
            num_computed=new.num_computed_tokens,
        )

    def _correct(self, held: HeldRequest, before: HeldRequest) -> None:
        """Of a request that goes on with other tokens, writes again what steps in flight computed of placeholders."""
        if held.data.epoch != before.data.epoch:
            return
        pairs = zip(held.token_ids[: held.num_computed], before.token_ids, strict=False)
        place = next((place for place, (token, guess) in enumerate(pairs) if token != guess), held.num_computed)
        for store, table in zip(self._stores, held.tables, strict=True):
            store.write(table, place, held.digests[place : held.num_computed])

    def _extend(self, entry: ScheduledRequest) -> None:
        held = self.held.get(entry.request_id)
        if held is None:
            raise PlanError(f"{entry.request_id} is scheduled, but the worker does not hold it")
        if entry.epoch != held.data.epoch:
            raise PlanError(f"{entry.request_id} is scheduled in epoch {entry.epoch}, the worker has {held.data.epoch}")
        if entry.num_computed_tokens != held.num_computed:
            raise PlanError(
                f"{entry.request_id} starts at {entry.num_computed_tokens}, but {held.num_computed} tokens are computed"
            )
        end = entry.num_computed_tokens + entry.num_tokens
        if entry.num_tokens < 1 or end > len(held.token_ids):
            raise PlanError(f"{entry.request_id} computes {entry.num_tokens} up to {end} of {len(held.token_ids)}")
        if entry.sample and end != len(held.token_ids):
            raise PlanError(f"{entry.request_id} samples at {end} of {len(held.token_ids)} tokens")
        for table, added in zip(held.tables, entry.new_block_ids, strict=bool(entry.new_block_ids)):
            table.extend(added)
        for store, table in zip(self._stores, held.tables, strict=True):
            needed = -(-end // store.block_size)
            if len(table) < needed or (len(table) > needed and not self._ahead):
                raise PlanError(f"{entry.request_id} has {len(table)} blocks for {end} tokens")
