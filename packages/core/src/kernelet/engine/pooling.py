"""Prompts that are pooled: checked, sent to the engine together, and their vectors collected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from kernelet.config import ModelConfig
from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput
from kernelet.engine.checkpoint_pooling import read_pooling
from kernelet.engine.core_client import CoreClient, Sink
from kernelet.engine.input_processor import InputProcessor
from kernelet.engine.several import raise_first_failure
from kernelet.errors import EngineDeadError, ParameterError
from kernelet.request.outputs import EngineOutput
from kernelet.request.pooling import finish_vector, validate_pooling_params
from kernelet.request.request import EngineRequest

Vector = PoolingRequestOutput[PoolingOutput]


@dataclass(frozen=True, kw_only=True)
class PreparedPooling:
    """A prompt that passed every check.

    Attributes:
        params: Resolved: nothing is left open.
        request: For the engine.
    """

    params: PoolingParams
    request: EngineRequest


class PoolingProcessor:
    """Checks and prepares prompts that are pooled. Safe to use from several threads.

    Args:
        inputs: Checks prompts.
        model: Width of its states; its folder may say how it pools.
    """

    def __init__(self, inputs: InputProcessor, model: ModelConfig) -> None:
        self._inputs = inputs
        self._hidden_size = model.hidden_size
        self._own = read_pooling(Path(model.path))

    def prepare(self, prompt: object, params: object, *, request_id: str, priority: object = 0) -> PreparedPooling:
        """Everything that can be said about a prompt before it runs.

        Raises:
            RequestError: the first thing that is wrong.
        """
        resolved = self.resolve(params)
        request = self._inputs.prepare_pooled(prompt, resolved.pooling or "", request_id=request_id, priority=priority)
        return PreparedPooling(params=resolved, request=request)

    def resolve(self, params: object) -> PoolingParams:
        """Parameters with nothing left open: the user's, else the checkpoint's, else the last state, normalized.

        Raises:
            ParameterError: naming what is wrong.
        """
        checked = validate_pooling_params(params, self._hidden_size)
        pooling, normalize = checked.pooling, checked.normalize
        if pooling is None:
            if self._own.refused:
                raise ParameterError(
                    "pooling", f"the checkpoint's own cannot be had: {self._own.refused}; name last or mean instead"
                )
            pooling = self._own.pooling or "last"
        if normalize is None:
            normalize = checked.task == "embed" if self._own.normalize is None else self._own.normalize
        return msgspec.structs.replace(checked, pooling=pooling, normalize=normalize)


class OwnedPooling:
    """Sends prompts to the engine on entry; on exit, whatever of them still runs is aborted.

    Args:
        client: The engine.
        prompts: What to send; ids differ.
        sink: Takes outputs on the engine's thread and must bring each to ``take`` on the owner's.
    """

    def __init__(self, client: CoreClient, prompts: Sequence[PreparedPooling], sink: Sink) -> None:
        self._client = client
        self._prompts = {one.request.request_id: one for one in prompts}
        self._sink = sink
        self._results: dict[str, Vector] = {}
        self._errors: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._client.add([one.request for one in self._prompts.values()], self._sink)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()

    @property
    def num_finished(self) -> int:
        """Prompts that have ended, well or not."""
        return len(self._results) + len(self._errors)

    @property
    def finished(self) -> bool:
        """Whether all have."""
        return self.num_finished == len(self._prompts)

    @property
    def errors(self) -> list[str | None]:
        """Why each prompt failed; None: it did not."""
        return [self._errors.get(name) for name in self._prompts]

    def abort(self) -> None:
        """Ends what still runs."""
        running = [name for name in self._prompts if name not in self._results and name not in self._errors]
        if running:
            self._client.abort(running)

    def take(self, outputs: Sequence[EngineOutput] | EngineDeadError) -> None:
        """Takes what the sink was given.

        Raises:
            EngineDeadError: the engine stopped.
        """
        if isinstance(outputs, EngineDeadError):
            raise EngineDeadError(str(outputs)) from outputs
        for output in outputs:
            if output.finish_reason is None:
                continue
            if output.pooled is None:
                self._errors[output.request_id] = output.error or f"the prompt was ended: {output.finish_reason}"
            else:
                self._results[output.request_id] = self._vector(output, output.pooled)

    def outcomes(self) -> list[Vector | None]:
        """What became of each prompt, in their order; None: it failed."""
        return [self._results.get(name) for name in self._prompts]

    def results(self) -> list[Vector]:
        """What became of all prompts, in their order.

        Raises:
            RequestFailedError: one failed; ``outputs`` has the results of the others.
        """
        raise_first_failure(self.errors, self.outcomes())
        return [self._results[name] for name in self._prompts]

    def _vector(self, output: EngineOutput, pooled: bytes) -> Vector:
        prompt = self._prompts[output.request_id]
        return PoolingRequestOutput(
            request_id=output.request_id,
            outputs=PoolingOutput(data=finish_vector(pooled, prompt.params)),
            prompt_token_ids=list(prompt.request.prompt_token_ids),
            num_cached_tokens=output.num_cached_tokens,
        )
