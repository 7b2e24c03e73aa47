"""The IO processor of an engine: selected once, and called so that one that fails hurts its request alone."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from kernelet.config import EngineConfig
from kernelet.contracts.io import IOContext, IOProcessor, IOProcessorOffer
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput
from kernelet.errors import ConfigError, ParameterError, PluginError, PromptError, RequestError, RequestFailedError
from kernelet.request.values import shown
from kernelet.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

T = TypeVar("T")

KEY = "io_processor_plugin"
"""Where a checkpoint's config.json names its processor."""

NONE_RUNS = (
    "the prompt holds data, but no IO processor runs that knows what to make of it: name one with "
    "--io-processor-plugin NAME, or give a text or token ids"
)


class NamedIOProcessor:
    """A processor with the name of its offer. What it raises that is no RequestError becomes one, and is logged.

    Attributes:
        name: The offer's.
        processor: The plugin's object.
    """

    def __init__(self, name: str, processor: IOProcessor[Any, Any]) -> None:
        self.name = name
        self.processor = processor

    def begin(self, prompt: Mapping[str, Any], params: PoolingParams | None) -> tuple[Any, PoolingParams]:
        """The data of ``{"data": ...}``, checked, and the parameters of all its prompts.

        Raises:
            RequestError: something is wrong with it.
        """
        unknown = sorted(str(key) for key in prompt if key != "data")
        if unknown:
            raise PromptError(f"the prompt has the key {shown(unknown[0])} beside 'data': give the data alone")
        if params is not None and not isinstance(params, PoolingParams):
            raise ParameterError("pooling_params", f"got {shown(params)}, expected one PoolingParams")
        data = self._call("parse_data", self.processor.parse_data, prompt["data"])
        merged = self._call("merge_pooling_params", self.processor.merge_pooling_params, params)
        if not isinstance(merged, PoolingParams):
            raise self._failed("merge_pooling_params", f"it returned {shown(merged)}, not PoolingParams")
        self._call("validate", self.processor.validate, data, merged)
        return data, merged

    def prompts(self, data: Any) -> list[Any]:
        """What is to be pooled."""
        return self._checked(self._call("pre_process", self.processor.pre_process, data))

    async def prompts_async(self, data: Any) -> list[Any]:
        """``prompts``, for servers."""
        return self._checked(await self._await("pre_process_async", self.processor.pre_process_async, data))

    def answer(self, data: Any, outputs: Sequence[PoolingRequestOutput[PoolingOutput]]) -> PoolingRequestOutput[Any]:
        """The answer, in the place of a vector."""
        return wrap(self._call("post_process", self.processor.post_process, data, outputs), outputs)

    async def answer_async(
        self, data: Any, outputs: Sequence[PoolingRequestOutput[PoolingOutput]]
    ) -> PoolingRequestOutput[Any]:
        """``answer``, for servers."""
        return wrap(await self._await("post_process_async", self.processor.post_process_async, data, outputs), outputs)

    def _checked(self, found: object) -> list[Any]:
        if not isinstance(found, Sequence) or isinstance(found, str | bytes) or not found:
            raise self._failed("pre_process", f"it returned {shown(found)}, not a list of prompts")
        return list(found)

    def _call(self, method: str, function: Callable[..., T], *arguments: object) -> T:
        try:
            return function(*arguments)
        except RequestError:
            raise
        except Exception as error:
            raise self._raised(method, error) from error

    async def _await(self, method: str, function: Callable[..., Awaitable[T]], *arguments: object) -> T:
        try:
            return await function(*arguments)
        except RequestError:
            raise
        except Exception as error:
            raise self._raised(method, error) from error

    def _raised(self, method: str, error: Exception) -> RequestFailedError:
        logger.error("IO processor %r failed in %s", self.name, method, exc_info=error)
        return self._failed(method, f"{type(error).__name__}: {error}")

    def _failed(self, method: str, what: str) -> RequestFailedError:
        return RequestFailedError(f"IO processor {self.name!r} failed in {method}: {what}")


def wrap(answer: object, outputs: Sequence[PoolingRequestOutput[PoolingOutput]]) -> PoolingRequestOutput[Any]:
    """An answer in the shape of an output, as vLLM gives it."""
    cached = sum(output.num_cached_tokens for output in outputs)
    return PoolingRequestOutput(request_id="", outputs=answer, prompt_token_ids=[], num_cached_tokens=cached)


def make_io_processor(
    config: EngineConfig, plugins: PluginView, tokenizer: Tokenizer | None
) -> NamedIOProcessor | None:
    """The processor that the operator names, else the checkpoint's own; None: neither names one.

    Raises:
        SelectionError: no plugin offers it; lists what there is.
        ConfigError: config.json names something that is no name, or the processor refuses the model or an option.
        PluginError: it cannot be made.
    """
    name = config.plugins.io_processor
    said = config.model.hf_config.get(KEY)
    if name is None and said is None:
        return None
    if name is None and (not isinstance(said, str) or not said):
        raise ConfigError(f"config.json has {KEY} = {shown(said)}, expected a name: give --io-processor-plugin NAME")
    owned = plugins.select(IOProcessorOffer, name or said).chosen
    context = IOContext(model=config.model, encode=None if tokenizer is None else tokenizer.encode)
    processor = plugins.load(owned)(plugins.settings(owned.plugin), context)
    if not isinstance(processor, IOProcessor):
        raise PluginError(f"{owned.plugin}: {owned.offer.target} of offer {owned.offer.name!r} is no IOProcessor")
    return NamedIOProcessor(owned.offer.name, processor)
