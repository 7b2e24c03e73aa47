"""An engine as a connector sees it, and nothing else of it: blocks, steps, transfers, and pages that are checked."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from kernelet.contracts.kv import (
    Handover,
    KVConnectorOffer,
    KVIdentity,
    KVLayout,
    KVStep,
    Later,
    ScheduledKV,
    Ticket,
    TransferResults,
)
from kernelet.testing.kv_connector.held import Blocks, Held, Transfer
from kernelet.testing.kv_connector.making import make_sides
from kernelet.testing.kv_connector.pages import PlainPages, same
from kernelet.testing.kv_connector.requests import IDENTITY, KitRequest, truth
from kernelet.testing.offered import Offered
from kernelet.testing.verdict import check

PAUSE = 0.002
"""Seconds between two steps of an engine that only waits."""

FEWEST_STEPS = 40
"""Steps that waiting takes at least."""

SCRIBBLE = 7
"""Seed of what is written over blocks that nobody holds any more."""


FENCE = "when cancel() has returned, nothing may touch a page of its transfers"
EXACT = "what a load confirms must be what was computed for these tokens, bit for bit"


class Rig:
    """Both sides of a connector, over plain pages of every rank.

    Attributes:
        patience: Seconds after which a transfer that is not over never will be.
        pages: By rank.
        open: Transfers by number.
        over: Valid tokens of those that were confirmed.
        beside: Engines that go on while this one waits.
    """

    def __init__(
        self,
        offered: Offered[KVConnectorOffer],
        layouts: Sequence[Sequence[KVLayout]],
        *,
        identity: KVIdentity = IDENTITY,
        role: str = "both",
        engine_id: str = "kit",
        patience: float = 20.0,
        numbers: Callable[[], int] | None = None,
    ) -> None:
        self.patience, self.identity = patience, identity
        self.layouts = tuple(tuple(rank) for rank in layouts)
        self.pages = [PlainPages(rank) for rank in layouts]
        self.open: dict[int, Transfer] = {}
        self.over: dict[int, int] = {}
        self.blocks = Blocks(self.layouts[0])
        self.beside: list[Rig] = []
        self._ended: set[int] = set()
        self._numbers = numbers or itertools.count(1).__next__
        self._step = itertools.count()
        self._told_of: set[str] = set()
        self._preempted: list[str] = []
        self._finished: list[str] = []
        self._cancelled: list[int] = []
        for pages in self.pages:
            pages.fill(SCRIBBLE)
        self.scheduler, self.workers = make_sides(
            offered, self.pages, identity=identity, role=role, engine_id=engine_id, load_timeout=patience
        )

    # --- requests --------------------------------------------------------------------------------

    def add(self, tokens: Sequence[int], params: Mapping[str, Any] | None = None, **facts: Any) -> Held:
        """A request comes in."""
        request = KitRequest(
            request_id=f"kit-{next(self._step)}",
            token_ids=list(tokens),
            num_prompt_tokens=len(tokens),
            identity=self.identity,
            kv_transfer_params=params,
            **facts,
        )
        self.scheduler.on_new_request(request)
        return Held(request)

    def ask(self, held: Held, times: int = 1) -> Ticket | None:
        """The ticket of a request, asked for so many times; ``LATER`` is waited for with empty steps."""
        more = self.patient()
        found = self._ask(held)
        while isinstance(found, Later):
            check(more(), "LATER must come to an end: a lookup that fails is a miss")
            self.wait()
            found = self._ask(held)
        for _ in range(1, times):
            check(
                self._ask(held) == found,
                "get_num_new_matched_tokens() must give the same answer until its ticket is settled",
            )
        return found

    def _ask(self, held: Held) -> Ticket | Later | None:
        found: Any = self.scheduler.get_num_new_matched_tokens(held.request, held.num_computed)
        check(found is None or isinstance(found, Ticket | Later), "an answer must be a Ticket, LATER or None")
        if isinstance(found, Ticket):
            check(found.num_tokens > 0, "a ticket must promise more than 0 tokens: None is a miss")
            check(
                held.num_computed + found.num_tokens <= held.request.num_tokens,
                "a ticket must not promise more tokens than the request has",
            )
        answer: Ticket | Later | None = found
        return answer

    def free(self, held: Held) -> None:
        """Its blocks are somebody else's, who writes into them at once."""
        for layout, blocks in zip(self.layouts[0], held.block_ids, strict=False):
            for pages in self.pages:
                pages.scribble(layout.layers, blocks)
        self.blocks.free(held)

    def start_load(self, held: Held, ticket: Ticket, leave: int = 1) -> int:
        """Settles a ticket with blocks for all tokens but the last ones; returns the transfer's number."""
        start = held.num_computed
        end = min(start + ticket.num_tokens, held.request.num_tokens - leave)
        self.blocks.allocate(held, held.request.num_tokens)
        number = self._numbers()
        self.open[number] = Transfer(held, start, end)
        self.scheduler.update_state_after_alloc(held.request, number, start, end, held.block_ids)
        return number

    def load(self, held: Held, ticket: Ticket, leave: int = 1, sentence: str = EXACT) -> int:
        """Loads, and checks what came against the truth; returns the tokens that are there now."""
        before = [pages.snapshot() for pages in self.pages]
        number = self.start_load(held, ticket, leave)
        transfer = self.open[number]
        if ticket.load_async:
            self.until(lambda: number not in self.open, "a load must be confirmed: get_finished() never named it")
            valid = self.over[number]
        else:
            valid = self._load_with_step(number, held)
        self.confirm(transfer, valid, sentence)
        self._check_rest(transfer, transfer.end if ticket.load_async else held.request.num_tokens, before)
        return transfer.start + valid

    def compute(self, *steps: tuple[Held, int]) -> None:
        """A step that computes so many tokens of each request; those beyond ``num_tokens`` are generated in it."""
        for held, count in steps:
            self.blocks.allocate(held, held.num_computed + count)
        self.step(steps)

    def prefill(self, held: Held, chunk: int = 0) -> None:
        """Computes all tokens that are not there, at most ``chunk`` in a step."""
        while left := held.request.num_tokens - held.num_computed:
            self.compute((held, min(left, chunk or left)))

    def generate(self, held: Held, token: int) -> None:
        """A step that computes a token which was sampled before."""
        held.request.token_ids.append(token)
        self.compute((held, 1))

    def preempt(self, held: Held) -> None:
        """The request loses its blocks; another writes into them in the next step."""
        self.scheduler.request_preempted(held.request)
        self._preempted.append(held.request.request_id)
        self._give_back(held)

    def finish(self, held: Held) -> Handover:
        """The request ends; blocks that are handed over are held until that is over. Returns the connector's answer."""
        number = self._numbers()
        blocks = held.block_ids or tuple(() for _ in self.layouts[0])
        answer: Any = self.scheduler.request_finished(held.request, number, held.num_computed, blocks)
        check(isinstance(answer, Handover), "request_finished() must return a Handover")
        self._finished.append(held.request.request_id)
        if answer.holds_blocks:
            self.open[number] = Transfer(held)
        else:
            self._give_back(held)
        said: Handover = answer
        return said

    def expire(self) -> None:
        """The deadline of all that is open has passed."""
        for held in [transfer.held for transfer in self.open.values()]:
            self._give_back(held)

    def wait_for_handovers(self) -> None:
        """Steps until nothing is held any more."""
        self.until(
            lambda: not self.open, "a handover must come to an end: get_finished() never named a transfer that it holds"
        )

    def until(self, done: Callable[[], bool], sentence: str) -> None:
        """Empty steps until something is so.

        Raises:
            ConformanceError: with the sentence, where it never is.
        """
        more = self.patient()
        while not done():
            check(more(), sentence)
            self.wait()

    def patient(self) -> Callable[[], bool]:
        """To be asked before each step of waiting: whether to wait on. A machine that stands still ends nothing."""
        end, asked = time.monotonic() + self.patience, itertools.count()
        return lambda: next(asked) < FEWEST_STEPS or time.monotonic() < end

    def wait(self) -> None:
        """An empty step, also of the engines beside it."""
        for rig in (self, *self.beside):
            rig.step()
        time.sleep(PAUSE)

    # --- a step ----------------------------------------------------------------------------------

    def step(self, computed: Sequence[tuple[Held, int]] = ()) -> None:
        """One step of every rank; without requests it only moves."""
        meta = self._meta(computed)
        cancelled, self._cancelled = self._cancelled, []
        results, told = [], []
        for rank in range(len(self.pages)):
            results.append(self._run(rank, meta, computed, cancelled))
            told.append(self.workers[rank].build_connector_worker_meta())
        for held, count in computed:
            held.num_computed += count
        for rank, result in enumerate(results):
            self._take(rank, result)
        if any(told):
            self.scheduler.update_connector_output(told)

    def _meta(self, computed: Sequence[tuple[Held, int]]) -> bytes:
        scheduled = tuple(
            ScheduledKV(
                request=held.request,
                num_computed_tokens=held.num_computed,
                num_scheduled_tokens=count,
                block_ids=held.block_ids,
            )
            for held, count in computed
            if all(transfer.held is not held for transfer in self.open.values())
        )
        step = KVStep(
            step=next(self._step),
            scheduled=scheduled,
            preempted=tuple(self._preempted),
            finished=tuple(self._finished),
        )
        self._preempted.clear()
        self._finished.clear()
        meta: Any = self.scheduler.build_connector_meta(step)
        check(isinstance(meta, bytes), "build_connector_meta() must return bytes")
        built: bytes = meta
        return built

    def _run(
        self, rank: int, meta: bytes, computed: Sequence[tuple[Held, int]], cancelled: Collection[int]
    ) -> TransferResults:
        worker = self.workers[rank]
        if cancelled:
            worker.cancel(tuple(cancelled))
            self.pages[rank].close(cancelled)
        before = self.pages[rank].snapshot() if cancelled and not self.open else None
        worker.bind_connector_metadata(meta)
        worker.start_load_kv()
        if computed:
            for layout in self.layouts[rank]:
                for layer in layout.layers:
                    worker.wait_for_layer_load(layer)
                    for held, count in computed:
                        self._write(rank, layout, layer, held, count)
                    worker.save_kv_layer(layer)
        worker.wait_for_save()
        result: Any = worker.get_finished()
        check(isinstance(result, TransferResults), "get_finished() must return TransferResults")
        if before is not None and not computed:
            check(self.pages[rank].unchanged(before), FENCE)
        results: TransferResults = result
        return results

    def _write(self, rank: int, layout: KVLayout, layer: str, held: Held, count: int) -> None:
        """What the model writes; of a token that is only sampled in this step nobody knows the value yet."""
        end = min(held.num_computed + count, held.request.num_tokens)
        if held.num_computed < end:
            parts = truth(held.request, layout, layer, held.num_computed, end)
            self.pages[rank].write(0, layer, held.block_ids[layout.group], held.num_computed, parts)

    def _take(self, rank: int, result: TransferResults) -> None:
        """What a rank told, each once."""
        told = {**dict.fromkeys(result.sent, 0), **result.received}
        for number, valid in told.items():
            if number in self._ended:
                continue  # the core drops what comes of a transfer that it has cancelled
            check(number not in self.over, "get_finished() must name a transfer once, on each rank")
            transfer = self.open.get(number)
            check(transfer is not None, "get_finished() must name transfers that were started, and no others")
            assert transfer is not None
            check(rank not in transfer.told, "get_finished() must name a transfer once, on each rank")
            check(0 <= valid <= transfer.end - transfer.start, "a load must not confirm more tokens than it was told")
            transfer.told[rank] = valid
            if len(transfer.told) == len(self.pages):
                self.over[number] = min(transfer.told.values())
                del self.open[number]
                for pages in self.pages:
                    pages.close([number])
                if not transfer.end:
                    self.free(transfer.held)

    def _give_back(self, held: Held) -> None:
        """Others have its blocks: at once, but after the fence where a transfer of it is open."""
        mine = [number for number, transfer in self.open.items() if transfer.held is held]
        if not mine:
            self.free(held)
        for number in mine:
            del self.open[number]
            self.scheduler.cancel(number)
        self._cancelled += mine
        self._ended.update(mine)
        self.step()
        if mine:
            self.free(held)

    def _load_with_step(self, number: int, held: Held) -> int:
        transfer = self.open[number]
        held.num_computed = transfer.end
        self.step([(held, held.request.num_tokens - transfer.end)])
        check(number in self.over, "a sync load must be confirmed by get_finished() of its own step")
        valid = self.over[number]
        if valid < transfer.end - transfer.start:
            held.num_computed = transfer.start + valid  # what was computed after it was computed from nothing
        return valid

    def confirm(self, transfer: Transfer, valid: int, sentence: str = EXACT) -> None:
        """Checks what came of a load that is over."""
        held, end = transfer.held, transfer.start + valid
        for pages, layouts in zip(self.pages, self.layouts, strict=True):
            for layout in layouts:
                for layer in layout.layers:
                    check(
                        same(
                            pages.read(layer, held.block_ids[layout.group], transfer.start, end),
                            truth(held.request, layout, layer, transfer.start, end),
                        ),
                        sentence,
                    )
        held.num_computed = max(held.num_computed, end)

    def _check_rest(self, transfer: Transfer, written: int, before: Sequence[Mapping[str, Any]]) -> None:
        for pages, layouts, old in zip(self.pages, self.layouts, before, strict=True):
            for layout in layouts:
                blocks = transfer.held.block_ids[layout.group]
                for layer in layout.layers:
                    check(
                        pages.same_elsewhere(layer, blocks, transfer.start, written, old[layer]),
                        "a load must write the tokens that it was told, and leave all others as they are",
                    )

    def check_pages(self, before: Sequence[Mapping[str, Any]], sentence: str) -> None:
        """Nothing has changed since."""
        for pages, old in zip(self.pages, before, strict=True):
            check(pages.unchanged(old), sentence)

    def switch_off(self) -> None:
        """In the middle of a step, as after a method that raised: what is open is cancelled, and the workers end."""
        meta = self._meta(())
        workers, self.workers = self.workers, []
        for worker, pages in zip(workers, self.pages, strict=True):
            worker.bind_connector_metadata(meta)
            worker.start_load_kv()
            pages.close(self.open)
            worker.cancel(tuple(self.open))
            worker.shutdown()

    def close(self) -> None:
        """The engine stops."""
        for worker in self.workers:
            worker.shutdown()
        self.scheduler.shutdown()
