"""The engine for scripts: a list of prompts in, a list of answers out."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from kernelet.contracts.sampling import SamplingParams
from kernelet.engine.input_processor import PreparedRequest
from kernelet.engine.pooling_llm import PoolingLLM
from kernelet.engine.progress import Progress, progress_bar
from kernelet.engine.prompts import ParsedPrompt, Prompt, split_prompts
from kernelet.engine.several import each, failure, one_each, raise_first_failure
from kernelet.engine.started import StartedEngine
from kernelet.engine.stats import EngineStats
from kernelet.errors import EngineDeadError
from kernelet.request.outputs import EngineOutput, RequestOutput

if TYPE_CHECKING:
    from types import TracebackType

Outputs = Sequence[EngineOutput] | EngineDeadError
Arrivals = queue.SimpleQueue[Outputs]
Message = Mapping[str, Any]


class LLM(PoolingLLM, StartedEngine):
    """A model, loaded into this process.

    Args:
        model: A plugin's model name, a local folder or model file, or a Hugging Face hub id.
        options: See ``kernelet.engine.options``: ``dtype``, ``max_model_len``, ``platform``, ``plugins``, ...; each may
            also be set by a variable KERNELET_<NAME>. ``plugins`` may hold plugin objects beside names.

    Raises:
        KerneletError: the engine cannot start, and why.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    def generate(
        self,
        prompts: Prompt | Sequence[Prompt | ParsedPrompt] | ParsedPrompt,
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        *,
        use_tqdm: bool = True,
        priority: Sequence[int] | None = None,
    ) -> list[RequestOutput]:
        """Completes prompts, in one batch.

        Every prompt and its parameters are checked before anything runs.

        Args:
            prompts: One or several: a text, a list of token ids, or ``{"prompt_token_ids": [...]}``.
            sampling_params: For all, or one each; None: the defaults.
            use_tqdm: Show a progress bar, in a terminal.
            priority: One each; smaller is served first under the policy "priority".

        Returns:
            One result a prompt, in their order.

        Raises:
            RequestError: a request is wrong; the message starts with its index if there are several.
            RequestFailedError: a request failed by itself; ``outputs`` has the results of all.
            EngineDeadError: the engine stopped.
        """
        prepared = self._prepare(split_prompts(prompts), sampling_params, priority)
        return self._run(prepared, progress_bar("Generating", len(prepared), "requests", shown=use_tqdm))

    def stream(
        self, prompt: Prompt | ParsedPrompt, sampling_params: SamplingParams | None = None
    ) -> Iterator[RequestOutput]:
        """Completes one prompt. Each item holds everything so far; the last one is ``finished``. Leaving early aborts.

        Raises:
            RequestError: the request is wrong, or failed by itself.
            EngineDeadError: the engine stopped.
        """
        (request,) = self._prepare([prompt], sampling_params, None)
        arrivals: Arrivals = queue.SimpleQueue()
        with self._frontend.own(request, arrivals.put) as owned:
            while not owned.finished:
                output = owned.update(arrivals.get())
                if owned.error is not None:
                    raise failure(owned.error, owned.error_parameter, try_again=owned.try_again)
                if owned.to_check():
                    self._frontend.check(owned)
                    output = owned.snapshot()
                yield output

    def chat(
        self,
        messages: Sequence[Message] | Sequence[Sequence[Message]],
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        *,
        use_tqdm: bool = True,
        **template: Any,
    ) -> list[RequestOutput]:
        """Answers one conversation, or several.

        Args:
            messages: A list of objects with ``role`` and ``content``, or a list of such lists.
            sampling_params: For all, or one each; None: the defaults.
            use_tqdm: Show a progress bar, in a terminal.
            template: ``chat_template`` (name or source), ``add_generation_prompt``, ``continue_final_message``,
                ``tools``, ``tool_choice`` ("auto"; "none": calls are taken out; "required", or a function: there must
                be a call), ``parallel_tool_calls``, ``chat_template_kwargs``, ``reasoning_effort``.

        Returns:
            One result a conversation; where a parser runs, each of its answers has a ``message``.

        Raises:
            ChatTemplateError: the model has no template, or it refused the messages.
            RequestError: as for ``generate``.
        """
        several = bool(messages) and isinstance(messages[0], Sequence)
        conversations: Sequence[Any] = messages if several else [messages]
        prompts = each(conversations, "messages", lambda one: self._frontend.chat_prompt(one, **template))
        return self.generate(prompts, sampling_params, use_tqdm=use_tqdm)

    def chat_prompt(self, messages: Sequence[Message], **template: Any) -> ParsedPrompt:
        """The prompt that the chat template makes of messages, for ``generate`` and ``stream``.

        Raises:
            ChatTemplateError: the model has no template, or it refused the messages.
        """
        return self._frontend.chat_prompt(messages, **template)

    def count_tokens(self, prompt: Prompt | ParsedPrompt) -> int:
        """Tokens of a prompt.

        Raises:
            PromptError: it cannot be a prompt of this model.
        """
        return len(self._frontend.input_processor.token_ids(prompt))

    def stats(self) -> EngineStats:
        """Totals since the start."""
        return self._frontend.client.stats()

    def reset_prefix_cache(self, *, reset_connector: bool = False) -> None:
        """Forgets cached prefixes.

        Args:
            reset_connector: KV connectors forget what they keep for this engine too.

        Raises:
            PluginError: none runs, or one of them could not.
        """
        self._frontend.client.reset_prefix_cache(reset_connector=reset_connector)

    def shutdown(self) -> None:
        """Stops the engine and releases the model. May be called twice."""
        self._finalizer()

    def _prepare(
        self,
        prompts: Sequence[object],
        sampling_params: SamplingParams | Sequence[SamplingParams] | None,
        priority: Sequence[int] | None,
    ) -> list[PreparedRequest]:
        params = one_each("sampling_params", sampling_params, len(prompts), SamplingParams())
        priorities = one_each("priority", priority, len(prompts), 0)
        prepare = self._frontend.input_processor.prepare

        def check(entry: tuple[object, object, object]) -> PreparedRequest:
            return prepare(entry[0], entry[1], request_id=f"request-{next(self._ids)}", priority=entry[2])

        return each(list(zip(prompts, params, priorities, strict=True)), "prompts", check)

    def _run(self, requests: Sequence[PreparedRequest], progress: Progress) -> list[RequestOutput]:
        arrivals: Arrivals = queue.SimpleQueue()
        with progress, ExitStack() as stack:
            # one sink for all: a step is one arrival, however many requests it serves
            owners = [stack.enter_context(self._frontend.own(request, arrivals.put)) for request in requests]
            by_id = {name: owner for owner in owners for name in owner.request_ids}
            left = set(map(id, owners))
            while left:
                outputs = arrivals.get()
                if isinstance(outputs, EngineDeadError):
                    raise EngineDeadError(str(outputs)) from outputs
                for output in outputs:
                    owner = by_id[output.request_id]
                    owner.take((output,))
                    if owner.finished and id(owner) in left:
                        left.remove(id(owner))
                        progress.advance()
            for owner in owners:
                self._frontend.check(owner)
            results = [owner.snapshot() for owner in owners]
            parameters = [owner.error_parameter for owner in owners]
            raise_first_failure([owner.error for owner in owners], results, parameters)
        return results
