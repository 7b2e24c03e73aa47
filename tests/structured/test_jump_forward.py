"""Runs of text that must come, with every engine: what is said is the same, in fewer steps."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_constraints import random_schema
from structured_engines import VOCABULARY

from kernelet.config import CacheConfig, SchedulerConfig, StructuredConfig
from kernelet.contracts.sampling import SamplerParams, SamplingParams, StructuredOutputsParams
from kernelet.engine.llm import LLM
from kernelet.engine.structured.forced import ForcedText
from kernelet.engine.structured.grammars import Grammars
from kernelet.request.structured import RulesState, StructuredRequest
from kernelet.structured import rules as over
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.schema.lower import lower_schema
from kernelet.structured.schema.options import JsonOptions
from kernelet.testing.null.harness import null_core, null_engine_config, null_request

STOP = VOCABULARY.stop_token_ids[0]
IDS = {token: index for index, token in reversed(list(enumerate(VOCABULARY.token_bytes))) if token}
LONGEST = max(map(len, IDS))

SCHEMA = {
    "type": "object",
    "properties": {
        "temperature_in_celsius": {"type": "integer", "minimum": -99, "maximum": 99},
        "wind_direction": {"enum": ["north-east", "south-west", "none"]},
    },
    "required": ["temperature_in_celsius", "wind_direction"],
    "additionalProperties": False,
}


def encode(text):
    """A tokenizer: the longest token that fits, one after the other."""
    data, found = text.encode(), []
    while data:
        size = next(size for size in range(LONGEST, 0, -1) if data[:size] in IDS)
        found.append(IDS[data[:size]])
        data = data[size:]
    return found


class Compiler:
    """Compiles in this process."""

    def __init__(self, served):
        self._engine = served.engine
        self.vocabulary = VOCABULARY

    def compile(self, name, rules, stop=None, seconds=None):
        return self._engine.load(self._engine.compile(over.decode(rules)))

    def close(self):
        """There is no process."""


def run(served, rules, requests, depth=1, **structured):
    """What becomes of requests that are held to rules, and the steps that they took."""
    config = null_engine_config(
        vocab_size=len(VOCABULARY.token_bytes),
        max_model_len=512,
        cache=CacheConfig(block_size=4, num_blocks=200),
        scheduler=SchedulerConfig(depth=depth, max_num_batched_tokens=48),
    )
    config = replace(config, structured=StructuredConfig(compile_inline=True, **structured))
    forced = ForcedText(lambda: VOCABULARY, encode)
    core, executor = null_core(config, grammars=Grammars(Compiler(served), config.structured, forced=forced))
    state = RulesState(rules=over.encode(rules), digest=over.digest(rules))
    held = StructuredRequest(engine=served.name, states=(state,))
    texts, ends = dict.fromkeys(requests, b""), {}
    for name, fields in requests.items():
        core.add_request(null_request(name, [1, 2, 3], structured=held, stop_token_ids=(STOP,), **fields))
    while core.has_unfinished():
        for output in core.step():
            texts[output.request_id] += b"".join(VOCABULARY.token_bytes[token] for token in output.token_ids)
            if output.finish_reason is not None:
                ends[output.request_id] = (output.finish_reason, output.structured, output.error)
    core.close()
    tokens = sum(stats.num_decode_tokens for stats in core.take_step_stats())
    return texts, ends, tokens, len(executor.plans)


def drawn(seed, max_tokens=400):
    return {"params": SamplerParams(seed=seed, temperature=1.0), "max_tokens": max_tokens}


@pytest.mark.parametrize("depth", [1, 2])
def test_long_keys_cost_few_steps(engine, depth):
    rules = lower_schema(SCHEMA, JsonOptions(max_whitespace=0))
    texts, ends, tokens, steps = run(engine, rules, {"r": drawn(5)}, depth)
    plain = run(engine, rules, {"r": drawn(5)}, depth, jump_forward=False)
    assert (texts, ends, tokens) == plain[:3]
    assert ends["r"] == ("stop", "enforced", None)
    jsonschema.validate(json.loads(texts["r"]), SCHEMA)
    assert plain[3] >= tokens
    assert steps < tokens / (3 - depth / 2)


def check_random_schemas(served, count):
    @settings(max_examples=count, suppress_health_check=list(HealthCheck))
    @given(random=st.randoms(), seed=st.integers(0, 2**32), depth=st.integers(1, 3), space=st.sampled_from([0, 8]))
    def same(random, seed, depth, space):
        try:
            rules = lower_schema(random_schema(random), JsonOptions(max_whitespace=space))
        except (UnenforcedError, InvalidConstraintError):
            rules = None
        assume(rules is not None and served.takes(rules))
        requests = {f"r{index}": drawn(seed + index, random.randint(1, 60)) for index in range(3)}
        assert run(served, rules, requests, depth)[:3] == run(served, rules, requests, jump_forward=False)[:3]

    same()


def test_random_schemas(engine):
    check_random_schemas(engine, 5)


@pytest.mark.long
def test_many_random_schemas(engine):
    check_random_schemas(engine, 100)


@pytest.mark.long
def test_a_model(smollm2_path):
    """Steps of several tokens compute what steps of one do; who asks for log-probabilities has one a token."""
    params = partial(SamplingParams, max_tokens=160, structured_outputs=StructuredOutputsParams(json=SCHEMA))
    wanted = [params(temperature=1.0, seed=seed, logprobs=[None, 0][seed % 2]) for seed in range(8)]
    wanted += [SamplingParams(temperature=0.0, max_tokens=40)]
    found = {}
    for jump in (True, False):
        llm = LLM(str(smollm2_path), structured_jump_forward=jump, max_model_len=512, num_blocks=600)
        outputs = llm.generate(["The weather in Oslo:"] * len(wanted), wanted, use_tqdm=False)
        found[jump] = [(one.outputs[0].text, one.outputs[0].token_ids, one.outputs[0].logprobs) for one in outputs]
        llm.shutdown()
    assert found[True] == found[False]
    assert all(logprobs is None or len(logprobs) == len(ids) for _, ids, logprobs in found[True])
