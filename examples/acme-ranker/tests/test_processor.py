"""Rankings of vectors that are known, and prompts of data."""

from __future__ import annotations

import numpy as np
import pytest
from acme_ranker.processor import Ranker

from kernelet.config import ModelConfig
from kernelet.contracts.io import IOContext
from kernelet.contracts.offer import Settings
from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput
from kernelet.errors import ConfigError, ParameterError

MODEL = ModelConfig(
    model="m", path="", architecture="A", hf_config={}, dtype="float32", vocab_size=9, max_model_len=4, num_layers=1
)


def make(encode=str.split, **values):
    settings = Settings(plugin="acme-ranker", values={"instruction": "", "truncate": False} | values)
    return Ranker(settings, IOContext(model=MODEL, encode=encode))


def output(*numbers):
    vector = PoolingOutput(data=np.array(numbers, dtype=np.float32))
    return PoolingRequestOutput(request_id="r", outputs=vector, prompt_token_ids=[1])


def test_the_best_come_first_and_equals_in_their_order():
    ranker = make()
    data = ranker.parse_data({"query": "q", "documents": ["a", "b", "c", "d"]})
    outputs = [output(0.6, 0.8), output(1, 0), output(0, 1), output(1, 0), output(-1, 0)]
    results = ranker.post_process(data, outputs)["results"]
    assert [one["index"] for one in results] == [1, 0, 2, 3]
    assert [one["score"] for one in results] == pytest.approx([0.8, 0.6, 0.6, -0.6])
    few = ranker.parse_data({"query": "q", "documents": ["a", "b", "c", "d"], "top_n": 2})
    assert ranker.post_process(few, outputs)["results"] == results[:2]


@pytest.mark.parametrize(
    "said, option, expected",
    [
        ({}, "", "q"),
        ({}, "find", "Instruct: find\nQuery: q"),
        ({"instruction": "see"}, "find", "Instruct: see\nQuery: q"),
    ],
)
def test_an_instruction_stands_before_the_query_alone(said, option, expected):
    ranker = make(instruction=option)
    data = ranker.parse_data({"query": "q", "documents": ["a"], **said})
    assert ranker.pre_process(data) == [expected, "a"]


def test_long_documents_keep_their_first_tokens_and_the_last():
    documents = ["1 2 3 4", "1 2 3 4 5 6"]
    whole, cut = make(), make(truncate=True)
    data = cut.parse_data({"query": "q", "documents": documents})
    assert whole.pre_process(data)[1:] == documents
    assert cut.pre_process(data)[1:] == ["1 2 3 4", {"prompt_token_ids": ["1", "2", "3", "6"]}]
    with pytest.raises(ConfigError, match="has no tokenizer"):
        make(encode=None, truncate=True)


def test_parameters():
    ranker = make()
    assert ranker.merge_pooling_params(None) == PoolingParams(task="embed", normalize=True)
    given = PoolingParams(pooling="mean", dimensions=8)
    assert ranker.merge_pooling_params(given) == PoolingParams(
        task="embed", pooling="mean", dimensions=8, normalize=True
    )
    with pytest.raises(ParameterError, match=r"^normalize: scores are cosines"):
        ranker.merge_pooling_params(PoolingParams(normalize=False))
