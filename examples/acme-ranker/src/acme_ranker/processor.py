"""A query and documents to prompts, and their vectors to a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelet.contracts.io import IOContext, IOProcessor, IOPrompt
from kernelet.contracts.offer import Settings
from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput
from kernelet.errors import ConfigError, ParameterError

FIELDS = ("query", "documents", "top_n", "instruction")
MAX_DOCUMENTS = 1000


@dataclass(frozen=True)
class Ranking:
    """What a request wants."""

    query: str
    documents: tuple[str, ...]
    top_n: int


class Ranker(IOProcessor[Ranking, dict[str, list[dict[str, Any]]]]):
    """``{"query": ..., "documents": [...]}`` to ``{"results": [{"index": 3, "score": 0.7}, ...]}``, best first."""

    def __init__(self, settings: Settings, context: IOContext) -> None:
        super().__init__(settings, context)
        if settings["truncate"] and context.encode is None:
            raise ConfigError(f"acme-ranker.truncate: {context.model.model} has no tokenizer, so texts cannot be cut")

    def parse_data(self, data: object) -> Ranking:
        if not isinstance(data, dict):
            raise ParameterError("data", f"got {type(data).__name__}, expected an object with query and documents")
        if unknown := [name for name in data if name not in FIELDS]:
            raise ParameterError(str(unknown[0]), f"is no field of data; there are {', '.join(FIELDS)}")
        documents = data.get("documents")
        if not isinstance(documents, list) or not 1 <= len(documents) <= MAX_DOCUMENTS:
            raise ParameterError("documents", f"expected a list of 1 to {MAX_DOCUMENTS} texts")
        texts = tuple(text(f"documents[{index}]", one) for index, one in enumerate(documents))
        query = text("query", data.get("query"))
        instruction = data.get("instruction", self.settings["instruction"])
        if not isinstance(instruction, str):
            raise ParameterError("instruction", f"got {type(instruction).__name__}, expected a text")
        top_n = data.get("top_n", len(texts))
        if not isinstance(top_n, int) or isinstance(top_n, bool) or top_n < 1:
            raise ParameterError("top_n", f"got {top_n!r}, expected a whole number from 1 on")
        return Ranking(f"Instruct: {instruction}\nQuery: {query}" if instruction else query, texts, top_n)

    def merge_pooling_params(self, params: PoolingParams | None) -> PoolingParams:
        given = params or PoolingParams()
        if given.normalize is False:
            raise ParameterError("normalize", "scores are cosines, which need vectors of length 1: leave it out")
        return PoolingParams(task="embed", pooling=given.pooling, dimensions=given.dimensions, normalize=True)

    def pre_process(self, data: Ranking) -> Sequence[IOPrompt]:
        return [data.query, *(self.fitting(document) for document in data.documents)]

    def post_process(
        self, data: Ranking, outputs: Sequence[PoolingRequestOutput[PoolingOutput]]
    ) -> dict[str, list[dict[str, Any]]]:
        query, *documents = (output.outputs.data.astype(np.float64) for output in outputs)
        scores = [float((query * document).sum()) for document in documents]
        order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
        return {"results": [{"index": index, "score": scores[index]} for index in order[: data.top_n]]}

    def fitting(self, document: str) -> IOPrompt:
        """A document as it is, or cut to the context; its last token stays, which models that pool by it may need."""
        if not self.settings["truncate"] or self.context.encode is None:
            return document
        ids, room = self.context.encode(document), self.context.model.max_model_len
        return document if len(ids) <= room else {"prompt_token_ids": [*ids[: room - 1], ids[-1]]}


def text(name: str, value: object) -> str:
    """A text that is not empty.

    Raises:
        ParameterError: it is something else.
    """
    if not isinstance(value, str) or not value:
        raise ParameterError(name, f"got {value!r:.40}, expected a text that is not empty")
    return value
