"""``embed`` and ``encode`` of the engine for scripts."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kernelet.contracts.pooling import PoolingParams, PoolingRequestOutput
from kernelet.engine.frontend import Frontend
from kernelet.engine.pooling import OwnedPooling, PreparedPooling, Vector
from kernelet.engine.progress import progress_bar
from kernelet.engine.prompts import ParsedPrompt, Prompt, split_prompts
from kernelet.engine.several import each, one_each
from kernelet.errors import EngineDeadError, ParameterError
from kernelet.request.outputs import EngineOutput

Arrivals = queue.SimpleQueue[Sequence[EngineOutput] | EngineDeadError]


class PoolingLLM:
    """What an ``LLM`` does with prompts whose states are pooled."""

    _frontend: Frontend
    _ids: itertools.count[int]

    def embed(
        self,
        prompts: Prompt | Sequence[Prompt | ParsedPrompt] | ParsedPrompt,
        pooling_params: PoolingParams | Sequence[PoolingParams] | None = None,
        *,
        use_tqdm: bool = True,
        priority: Sequence[int] | None = None,
    ) -> list[Vector]:
        """Embeddings of prompts, in one batch: the last token's state of length 1, unless parameters say otherwise.

        Every prompt and its parameters are checked before anything runs.

        Args:
            prompts: As for ``generate``.
            pooling_params: For all, or one each; None: the checkpoint's own.
            use_tqdm: Show a progress bar, in a terminal.
            priority: As for ``generate``.

        Returns:
            One result a prompt, in their order; ``outputs.embedding`` is a list, ``outputs.data`` an array.

        Raises:
            RequestError: a request is wrong; the message starts with its index if there are several.
            RequestFailedError: a request failed by itself; ``outputs`` has the results of all.
            EngineDeadError: the engine stopped.
        """
        given = split_prompts(prompts)
        params = [_to_embed(one) for one in one_each("pooling_params", pooling_params, len(given), PoolingParams())]
        return self._pool(self._prepare_pooling(given, params, priority), use_tqdm=use_tqdm)

    def encode(
        self,
        prompts: Prompt | Mapping[str, Any] | Sequence[Prompt | ParsedPrompt] | ParsedPrompt,
        pooling_params: PoolingParams | Sequence[PoolingParams] | None = None,
        *,
        use_tqdm: bool = True,
        priority: Sequence[int] | None = None,
    ) -> list[PoolingRequestOutput[Any]]:
        """``embed`` for any task; and ``{"data": ...}`` is given to the engine's IO processor.

        Args:
            prompts: As for ``generate``, or ``{"data": ...}``: whatever the IO processor takes.
            pooling_params: For all, or one each; one for data.
            use_tqdm: Show a progress bar, in a terminal.
            priority: As for ``generate``; one number for data.

        Returns:
            One result a prompt, in their order. For data one whose ``outputs`` is the processor's answer.

        Raises:
            RequestError: as for ``embed``; for data also what the IO processor refuses or fails at.
            EngineDeadError: the engine stopped.
        """
        if isinstance(prompts, Mapping) and "data" in prompts:
            return [self._process(prompts, pooling_params, priority, use_tqdm=use_tqdm)]
        given = split_prompts(prompts)
        return list(self._pool(self._prepare_pooling(given, pooling_params, priority), use_tqdm=use_tqdm))

    def _process(
        self, prompt: Mapping[str, Any], params: Any, priority: Any, *, use_tqdm: bool
    ) -> PoolingRequestOutput[Any]:
        processor = self._frontend.need_io_processor()
        data, merged = processor.begin(prompt, params)
        prompts = processor.prompts(data)
        (one,) = one_each("priority", priority, 1, 0)
        prepared = self._prepare_pooling(prompts, merged, [one] * len(prompts))
        return processor.answer(data, self._pool(prepared, use_tqdm=use_tqdm))

    def _prepare_pooling(self, prompts: Sequence[object], params: Any, priority: Any) -> list[PreparedPooling]:
        all_params = one_each("pooling_params", params, len(prompts), PoolingParams())
        priorities = one_each("priority", priority, len(prompts), 0)
        prepare = self._frontend.pooling.prepare

        def check(entry: tuple[object, object, object]) -> PreparedPooling:
            return prepare(entry[0], entry[1], request_id=f"request-{next(self._ids)}", priority=entry[2])

        return each(list(zip(prompts, all_params, priorities, strict=True)), "prompts", check)

    def _pool(self, prompts: Sequence[PreparedPooling], *, use_tqdm: bool) -> list[Vector]:
        arrivals: Arrivals = queue.SimpleQueue()
        progress = progress_bar("Encoding", len(prompts), "prompts", shown=use_tqdm)
        with progress, OwnedPooling(self._frontend.client, prompts, arrivals.put) as owned:
            while not owned.finished:
                before = owned.num_finished
                owned.take(arrivals.get())
                progress.advance(owned.num_finished - before)
        return owned.results()


def _to_embed(params: object) -> object:
    """Parameters of ``embed``; what is no PoolingParams is refused later.

    Raises:
        ParameterError: they are for another task.
    """
    if not isinstance(params, PoolingParams):
        return params
    if params.task not in {None, "embed"}:
        raise ParameterError("task", f"got {params.task!r}, but embed() is for the task 'embed': use encode()")
    return msgspec.structs.replace(params, task="embed")
