"""Texts under constraints from LLM and AsyncLLM to helpers and back, with the engine on a thread and in a process."""

from __future__ import annotations

import asyncio
import json
import re
import threading

import pytest

from kernelet.contracts.sampling import SamplingParams, StructuredOutputsParams
from kernelet.engine.async_llm import AsyncLLM
from kernelet.engine.bootstrap import configure_engine, start, start_in_process
from kernelet.engine.llm import LLM
from kernelet.engine.option_sources import resolve_options
from kernelet.engine.remote.spawn import spawn_engine
from kernelet.errors import ParameterError, RequestError, RequestFailedError, UnenforcedConstraintError
from kernelet.testing.null.model import null_config, write_model

OPTIONS = {
    "plugins": ["core", "kernelet.testing.null:plugin", "kernelet.testing.grammar_engine.reference:plugin"],
    "platform": "null",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"), null_config(max_model_len=2048))


def begin(folder, launch=start_in_process, **options):
    return start(configure_engine(str(folder), resolve_options({**OPTIONS, **options}, environ={})), launch)


@pytest.fixture(scope="module", params=["thread", "process"])
def frontend(folder, request):
    frontend = begin(folder, start_in_process if request.param == "thread" else spawn_engine)
    yield frontend
    frontend.close()


@pytest.fixture
def llm(frontend):
    llm = LLM.of(frontend)
    llm._finalizer.detach()
    return llm


@pytest.fixture
def async_llm(frontend):
    llm = AsyncLLM.of(frontend)
    llm._finalizer.detach()
    return llm


def params(seed=0, max_tokens=400, **constraint):
    return SamplingParams(
        temperature=1.0, seed=seed, max_tokens=max_tokens, structured_outputs=StructuredOutputsParams(**constraint)
    )


SCHEMA = {
    "type": "object",
    "properties": {"name": {"enum": ["é", "b"]}, "count": {"type": "integer", "minimum": 3, "maximum": 12}},
    "required": ["name", "count"],
    "additionalProperties": False,
}


def test_many_constraints_in_one_batch(llm):
    wanted = [
        params(regex="[a-c]{2,5}x"),
        params(json=SCHEMA),
        SamplingParams(temperature=0.0, max_tokens=7, ignore_eos=True),
        params(choice=["yes", "nö"]),
        params(json=json.dumps(SCHEMA), seed=5, disable_any_whitespace=True),
        params(grammar='root ::= "(" root ")" | "x"', seed=3),
    ]
    outputs = [request.outputs[0] for request in llm.generate(["hello"] * len(wanted), wanted, use_tqdm=False)]
    regex, loose, _, choice, compact, _ = outputs
    assert re.fullmatch("[a-c]{2,5}x", regex.text)
    assert choice.text in {"yes", "nö"}
    for found in (loose, compact):
        value = json.loads(found.text)
        assert value["name"] in {"é", "b"}
        assert 3 <= value["count"] <= 12
    assert " " not in compact.text
    assert [output.structured for output in outputs][:5] == ["enforced", "enforced", None, "enforced", "enforced"]
    assert [output.finish_reason for output in outputs][:5] == ["stop", "stop", "length", "stop", "stop"]


def test_answers_share_a_constraint(llm):
    wanted = params(regex="[a-z]{9}")
    (output,) = llm.generate(["hello"], SamplingParams(**{**as_dict(wanted), "n": 5}), use_tqdm=False)
    assert {one.structured for one in output.outputs} == {"enforced"}
    assert len({one.text for one in output.outputs}) == 5
    assert all(re.fullmatch("[a-z]{9}", one.text) for one in output.outputs)


def as_dict(wanted):
    return {name: getattr(wanted, name) for name in wanted.__struct_fields__}


def test_what_is_wrong_with_one_of_several_is_said_before_anything_runs(llm):
    with pytest.raises(ParameterError, match=r"^prompts\[1\]: structured_outputs: regex, character 2"):
        llm.generate(["a", "b"], [params(regex="a"), params(regex="a(b")], use_tqdm=False)
    with pytest.raises(UnenforcedConstraintError, match="look-around"):
        llm.generate("a", params(regex="(?=a)b"), use_tqdm=False)


def test_what_ends_before_its_constraint_is_unfinished(llm):
    (cut, whole, *stopped) = llm.generate(
        ["a"] * 4,
        [
            params(regex="[a-c]{9}", max_tokens=4),
            params(regex="[a-c]*", max_tokens=4),
            SamplingParams(structured_outputs=StructuredOutputsParams(regex="ab{50}"), stop="bb", max_tokens=99),
            # the token that ends the text by itself is a stop string too
            SamplingParams(structured_outputs=StructuredOutputsParams(regex="[ab]c"), stop="c", ignore_eos=True),
        ],
        use_tqdm=False,
    )
    found = [(one.outputs[0].finish_reason, one.outputs[0].structured) for one in (cut, whole, *stopped)]
    assert found[0] == ("length", "unfinished")
    assert found[1][1] == "enforced"
    assert found[2:] == [("stop", "unfinished")] * 2
    assert [one.outputs[0].stop_reason for one in stopped] == ["bb", "c"]


async def last(outputs):
    found = None
    async for output in outputs:
        found = output
    return found.outputs[0]


def test_asynchronous_requests(async_llm):
    async def main():
        wanted = [params(regex="[a-z]{12}", seed=seed) for seed in range(20)] + [params(choice=["a", "b"])]
        found = await asyncio.gather(*(last(async_llm.generate("p", one)) for one in wanted))
        assert {one.structured for one in found} == {"enforced"}
        assert all(re.fullmatch("[a-z]{12}|[ab]", one.text) for one in found)
        with pytest.raises(ParameterError, match="regex, character 2"):
            await last(async_llm.generate("p", params(regex="a(b")))
        aborted = async_llm.generate("p", params(regex="[a-z]{1500}", max_tokens=1500), "mine")
        await anext(aborted)
        await async_llm.abort("mine")
        assert (await last(aborted)).structured == "unfinished"

    asyncio.run(main())


def test_a_slow_constraint_blocks_neither_the_loop_nor_others(async_llm, monkeypatch):
    """While a constraint is read, which takes as long as the test wants, the loop turns and others are served."""
    sandbox, gate = async_llm.frontend.structured._sandbox, asyncio.Event()
    plain = sandbox.call

    async def slow(*arguments, **options):
        await gate.wait()
        return await plain(*arguments, **options)

    async def main():
        monkeypatch.setattr(sandbox, "call", slow)
        held = asyncio.create_task(last(async_llm.generate("p", params(regex="never seen before"))))
        free = await last(async_llm.generate("p", SamplingParams(max_tokens=5, ignore_eos=True)))
        assert len(free.token_ids) == 5
        assert not held.done()
        gate.set()
        assert (await held).text == "never seen before"

    asyncio.run(main())


def test_sleep_and_drain_wait_for_grammars(frontend, llm):
    client = frontend.client
    found = []

    def run():
        found.extend(llm.generate(["a"] * 4, params(regex="[ab]{7}c|a"), use_tqdm=False))

    thread = threading.Thread(target=run)
    thread.start()
    client.sleep(1)
    client.wake_up()
    thread.join(120)
    assert [one.outputs[0].structured for one in found] == ["enforced"] * 4
    client.drain()
    client.wake_up()


def test_what_nobody_enforces_is_checked_where_the_operator_says_so(folder):
    frontend = begin(folder, structured_fallback="validate")
    try:
        llm = LLM.of(frontend)
        wanted = [params(regex="(?=a)."), params(regex="(?=.|)(.|\\n)*"), params(regex="[ab]c")]
        outputs = [one.outputs[0] for one in llm.generate(["p"] * 3, wanted, use_tqdm=False)]
        assert outputs[0].structured in {"violated", "unfinished"}
        assert [one.structured for one in outputs[1:]] == ["validated", "enforced"]
        *_, streamed = llm.stream("p", wanted[1])
        assert streamed.outputs[0].structured == "validated"
        assert asyncio.run(last(AsyncLLM.of(frontend).generate("p", wanted[1]))).structured == "validated"
    finally:
        frontend.close()


def test_compiling_inline_and_failing_engines(folder):
    frontend = begin(
        folder,
        plugins=["core", "kernelet.testing.null:plugin", "grammar_plugin:PLUGIN"],
        structured_compile_inline=True,
        structured_compile_timeout=20.0,
    )
    try:
        llm = LLM.of(frontend)
        assert llm.generate("p", params(choice=["a"]), use_tqdm=False)[0].outputs[0].text == "a"
        with pytest.raises(RequestFailedError, match="the grammar engine 'raising' failed"):
            llm.generate("p", params(choice=["a"], backend="raising"), use_tqdm=False)
        few = SamplingParams(max_tokens=2)
        with pytest.raises(ParameterError, match=r"^prompts\[1\]: structured_outputs: .*another backend") as caught:
            llm.generate(["p", "p"], [few, params(choice=["a"], backend="refusing")], use_tqdm=False)
        assert len(caught.value.outputs) == 2
        with pytest.raises(ParameterError, match=r"^structured_outputs: .* does not take this constraint"):
            list(llm.stream("p", params(choice=["a"], backend="refusing")))
        assert llm.generate("p", params(choice=["b"]), use_tqdm=False)[0].outputs[0].text == "b"
    finally:
        frontend.close()


HOSTILE = {
    "nested": {"json": '{"type":"array","items":' * 500 + "{}" + "}" * 500},
    "wide": {"json": {"enum": list(range(5000))}},
    "huge bound": {"json": {"type": "array", "maxItems": 18446744073709551615}},
    "no type": {"json": {"type": "strin"}},
    "no schema": {"json": {"type": "object", "properties": {"foo": "bar"}}},
    "a circle of references": {"json": {"$ref": "#/$defs/N", "$defs": {"N": {"$ref": "#/$defs/N"}}}},
    "no text": {"json": False},
    "a group without end": {"regex": "a(b"},
    "nested repeats": {"regex": "((a{1,9999}){1,9999}){1,9999}"},
    "a rule that is itself": {"grammar": "root ::= root"},
    "two roots": {"grammar": 'root ::= "a"\nroot ::= "b"'},
    "an engine that hangs": {"choice": ["a"], "backend": "slow"},
    "an engine that takes all memory": {"choice": ["a"], "backend": "hungry"},
    "an engine that crashes": {"choice": ["a"], "backend": "crashing"},
    "an engine that raises": {"choice": ["a"], "backend": "raising"},
}


@pytest.fixture(scope="module")
def besieged(folder):
    frontend = begin(
        folder,
        plugins=["core", "kernelet.testing.null:plugin", "grammar_plugin:PLUGIN"],
        structured_compile_timeout=5.0,
        structured_compile_memory=128 << 20,
    )
    yield LLM.of(frontend)
    frontend.close()


ALWAYS = {"nested", "a circle of references", "an engine that hangs", "an engine that crashes"}


@pytest.mark.parametrize(
    "name", [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.long) for name in HOSTILE]
)
def test_hostile_constraints_are_one_error_and_the_next_request_is_right(besieged, name):
    with pytest.raises(RequestError) as caught:
        besieged.generate("p", params(**HOSTILE[name]), use_tqdm=False)
    assert "/a/path" not in str(caught.value)
    assert besieged.generate("p", params(regex="[ab]c"), use_tqdm=False)[0].outputs[0].text in {"ac", "bc"}
