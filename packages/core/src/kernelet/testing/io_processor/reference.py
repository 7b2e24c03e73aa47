"""An IO processor that is easy to understand: how far texts are from one another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelet.contracts.io import IOProcessor, IOPrompt
from kernelet.contracts.pooling import PoolingOutput, PoolingRequestOutput
from kernelet.errors import ParameterError

MAX_TEXTS = 100


class Distances(IOProcessor[list[str], dict[str, list[list[float]]]]):
    """``{"texts": [...]}`` to ``{"distances": [[...], ...]}``, Euclidean, a row and a column a text."""

    def parse_data(self, data: object) -> list[str]:
        if not isinstance(data, dict) or data.keys() != {"texts"}:
            raise ParameterError("data", "expected an object with texts, and nothing else")
        texts = data["texts"]
        if not isinstance(texts, list) or not 1 <= len(texts) <= MAX_TEXTS:
            raise ParameterError("texts", f"expected a list of 1 to {MAX_TEXTS} texts")
        for text in texts:
            if not isinstance(text, str) or not text:
                raise ParameterError("texts", "expected texts that are not empty")
        return list(texts)

    def pre_process(self, data: list[str]) -> Sequence[IOPrompt]:
        return data

    def post_process(
        self, data: list[str], outputs: Sequence[PoolingRequestOutput[PoolingOutput]]
    ) -> dict[str, list[list[float]]]:
        vectors = np.stack([output.outputs.data for output in outputs]).astype(np.float64)
        gaps = vectors[:, None, :] - vectors[None, :, :]
        return {"distances": np.sqrt((gaps * gaps).sum(axis=-1)).tolist()}
