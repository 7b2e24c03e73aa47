"""IO processors: the data of a request into prompts that are pooled, and their vectors into an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kernelet.contracts.offer import Offer, Settings
from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput

if TYPE_CHECKING:
    from kernelet.config import ModelConfig

DataT = TypeVar("DataT")
ResultT = TypeVar("ResultT")

IOPrompt = str | Sequence[int] | Mapping[str, Any]
"""What ``LLM.encode`` takes: a text, token ids, or a dictionary with ``prompt`` or ``prompt_token_ids``."""


@dataclass(frozen=True, kw_only=True)
class IOContext:
    """What an IO processor may know of its engine.

    Attributes:
        model: The resolved model.
        encode: Token ids of a text, with the tokenizer's special tokens. None: the model has no tokenizer.
    """

    model: ModelConfig
    encode: Callable[[str], list[int]] | None = None


@dataclass(frozen=True, kw_only=True)
class IOProcessorOffer(Offer):
    """An IO processor; ``target`` is an ``IOProcessor`` class.

    ``--io-processor-plugin`` selects it by its name, or ``io_processor_plugin`` in the checkpoint's config.json.
    """


class IOProcessor(ABC, Generic[DataT, ResultT]):
    """Turns the data of a request into prompts, and the vectors of those into an answer.

    One instance a frontend serves all requests, also at once and from several threads: nothing of a request is kept
    between calls. A request goes through ``parse_data``, ``merge_pooling_params``, ``validate``, ``pre_process``, and,
    if all of its prompts were computed, ``post_process``.
    """

    def __init__(self, settings: Settings, context: IOContext) -> None:
        """The engine has been configured.

        Args:
            settings: The plugin's options.
            context: The model and its tokenizer.

        Raises:
            ConfigError: an option cannot work, or the model cannot be used so.
        """
        self.settings = settings
        self.context = context

    @abstractmethod
    def parse_data(self, data: object) -> DataT:
        """Checks what came as ``data``: whatever Python or JSON can say. Does not change it.

        Raises:
            ParameterError: naming what is wrong with it.
        """

    def merge_pooling_params(self, params: PoolingParams | None) -> PoolingParams:
        """The parameters of all prompts of a request, from those that came with it. What came is not changed silently.

        Raises:
            ParameterError: one of them cannot be had.
        """
        return PoolingParams(task="plugin") if params is None else params

    def validate(self, data: DataT, params: PoolingParams) -> None:
        """What data and parameters must agree on; called before anything runs.

        Raises:
            ParameterError: naming what to change.
        """

    @abstractmethod
    def pre_process(self, data: DataT) -> Sequence[IOPrompt]:
        """The prompts to pool, at least one. The same data has the same prompts."""

    async def pre_process_async(self, data: DataT) -> Sequence[IOPrompt]:
        """``pre_process`` for servers. A processor that waits for something, e.g. a download, does it here."""
        return self.pre_process(data)

    @abstractmethod
    def post_process(self, data: DataT, outputs: Sequence[PoolingRequestOutput[PoolingOutput]]) -> ResultT:
        """The answer.

        Args:
            data: As for ``pre_process``.
            outputs: One a prompt, in the order of the prompts.

        Returns:
            Plain data: what JSON can carry.
        """

    async def post_process_async(self, data: DataT, outputs: Sequence[PoolingRequestOutput[PoolingOutput]]) -> ResultT:
        """``post_process`` for servers."""
        return self.post_process(data, outputs)
