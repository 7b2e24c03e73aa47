from __future__ import annotations

import asyncio
import pickle

import pytest

from kernelet.config import StructuredConfig
from kernelet.config.structured import ConstraintLimits
from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.engine.structured.prepare import StructuredOutputs
from kernelet.errors import (
    MalformedConstraintError,
    ParameterError,
    SandboxTargetError,
    SandboxTimeoutError,
    UnenforcedConstraintError,
)

GOOD = GrammarEngineOffer(name="good", target="m:C", priority=1)
FLAT = GrammarEngineOffer(name="flat", target="m:C", priority=9, recursion=False, max_repeat=20)
HOW = "install a package that offers one"


@pytest.fixture
def make(sandbox):
    def make(*offers, **config):
        return StructuredOutputs(offers or (GOOD, FLAT), StructuredConfig(**config), sandbox, HOW)

    return make


class Scripted:
    """A sandbox that says what it is told to."""

    def __init__(self, error):
        self.error, self.calls = error, 0

    def call_sync(self, *_, **__):
        self.calls += 1
        raise self.error

    async def call(self, *_, **__):
        return self.call_sync()


def regex(text, **options):
    return StructuredOutputsParams(regex=text, **options)


@pytest.mark.parametrize(
    "params, config, engine",
    [
        (regex("a{9}"), {}, "flat"),
        (regex("a{30}"), {}, "good"),
        (regex("a{9}", backend="good"), {}, "good"),
        (regex("a{9}", backend="auto"), {"backend": "good"}, "flat"),
        (regex("a{9}"), {"backend": "good"}, "good"),
        (regex("a{9}", backend="flat"), {"backend": "good"}, "flat"),
    ],
)
def test_the_engine_is_the_requests_the_operators_or_the_best(make, params, config, engine):
    one = make(**config)
    prepared = one.prepare(params)
    assert prepared.engine == engine
    assert prepared.others == (("good",) if engine == "flat" and params.backend != "flat" else ())
    assert len(prepared.states) == 1
    assert asyncio.run(one.prepare_async(params)) == prepared


@pytest.mark.parametrize(
    "params, config, says",
    [
        (regex("a(b"), {}, "^structured_outputs: regex, character 2: "),
        (regex("a", backend="nobody"), {}, "no grammar engine is named 'nobody'; there are auto, flat, good$"),
        (regex("(?=a)b"), {}, "cannot be enforced: regex, character 1: look-around is not supported$"),
        (regex("a{30}", backend="flat"), {}, "'flat' does not enforce it: .* not 30; it is enforced by good$"),
        (regex("a" * 99), {"limits": ConstraintLimits(max_bytes=50)}, "--structured-max-bytes"),
        ({"json": "{"}, {}, "json: is no JSON"),
        ({"regexp": "a"}, {}, "is no option"),
        (5, {}, "expected StructuredOutputsParams"),
    ],
)
def test_what_is_refused_is_one_parameter_error(make, params, config, says):
    one = make(**config)
    for prepare in (one.prepare, lambda params: asyncio.run(one.prepare_async(params))):
        with pytest.raises(ParameterError, match=says) as caught:
            prepare(params)
        assert caught.value.parameter.startswith("structured_outputs")


def test_only_engines_that_the_operator_allows_serve_requests(make):
    one = make(allowed_backends=("flat",))
    for prepare in (one.prepare, lambda params: asyncio.run(one.prepare_async(params))):
        prepared = prepare(regex("a{9}"))
        assert (prepared.engine, prepared.others) == ("flat", ())
        with pytest.raises(ParameterError, match=r"backend: requests may not name 'good'; they may name auto, flat$"):
            prepare(regex("a{9}", backend="good"))
        with pytest.raises(ParameterError, match=r"no grammar engine is named 'nobody'; there are auto, flat$"):
            prepare(regex("a{9}", backend="nobody"))
        with pytest.raises(UnenforcedConstraintError) as caught:
            prepare(regex("a{30}"))
        assert "good" not in str(caught.value)


def test_refusals_have_every_place_and_travel(make):
    with pytest.raises(UnenforcedConstraintError) as caught:
        make().prepare(regex("(?=a)b"))
    assert caught.value.refusals == (("regex, character 1", "look-around is not supported"),)
    back = pickle.loads(pickle.dumps(caught.value))
    assert (str(back), back.parameter, back.refusals) == (
        str(caught.value),
        "structured_outputs",
        caught.value.refusals,
    )


CLOSED = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 30}}, "additionalProperties": False}


@pytest.mark.parametrize(
    "params, place",
    [
        ({"json": CLOSED}, "/properties/a"),
        ({"json": {"type": "array"}}, ""),
        (
            {
                "structural_tag": {
                    "type": "structural_tag",
                    "triggers": ["<a>"],
                    "structures": [{"begin": "<a>", "schema": CLOSED, "end": ""}],
                }
            },
            "/structures/0/schema/properties/a",
        ),
    ],
)
def test_what_the_named_engine_does_not_enforce_has_a_place(make, params, place):
    one = make()
    for prepare in (one.prepare, lambda params: asyncio.run(one.prepare_async(params))):
        with pytest.raises(UnenforcedConstraintError) as caught:
            prepare(params | {"backend": "flat"})
        ((found, reason),) = caught.value.refusals
        assert found == place
        says = f"the grammar engine 'flat' does not enforce it: {place or 'the schema as a whole'}: {reason}; "
        assert caught.value.reasons == (f"{says}it is enforced by good",)
    assert one.prepare(params).engine == "good"
    with pytest.raises(UnenforcedConstraintError, match="no installed grammar engine enforces it") as caught:
        make(FLAT).prepare(params)
    assert caught.value.refusals == ((place, reason),)


@pytest.mark.parametrize(
    "params, place",
    [
        ({"json": {"properties": {"a": {"type": "strin"}}}}, "/properties/a/type"),
        ({"json": CLOSED | {"required": ["a"], "properties": {"a": False}}}, "/properties/a"),
        ({"json": {"enum": [0] * 9000}}, "json: /enum"),
        ({"json": False}, ""),
        ({"regex": "a("}, "regex, character 2"),
    ],
)
def test_what_means_nothing_has_a_place(make, params, place):
    with pytest.raises(MalformedConstraintError) as caught:
        make().prepare(params)
    error = caught.value
    assert error.place == place
    assert str(error) == f"structured_outputs: {f'{place}: ' if place else ''}{error.reason}"


def test_nobody_installed_says_what_to_do():
    with pytest.raises(ParameterError, match=f"no grammar engine is installed: {HOW}"):
        StructuredOutputs(how_to_get=HOW).prepare(regex("a"))


def test_a_constraint_is_read_once(make):
    one = make()
    first = one.prepare(regex("a{7}"))
    one._sandbox = Scripted(AssertionError("it is asked again"))
    assert one.prepare(regex("a{7}")) == first
    assert asyncio.run(one.prepare_async(regex("a{7}", backend="good"))).engine == "good"
    with pytest.raises(AssertionError):
        one.prepare(regex("a{8}"))


def test_failures_of_the_sandbox_are_not_kept():
    for error, kind in [
        (SandboxTimeoutError("reading the constraint took longer than 10 s"), SandboxTimeoutError),
        (SandboxTargetError("failed: KeyError: 5", error="KeyError", text="5"), ParameterError),
    ]:
        sandbox = Scripted(error)
        one = StructuredOutputs((GOOD,), StructuredConfig(), sandbox)
        for _ in range(2):
            with pytest.raises(kind):
                one.prepare(regex("a"))
            with pytest.raises(kind):
                asyncio.run(one.prepare_async(regex("a")))
        assert sandbox.calls == 4


@pytest.mark.parametrize("params", [regex("(?=a).b"), regex("a{30}|ab", backend="flat")])
def test_what_nobody_enforces_is_checked_at_the_end_where_the_operator_says_so(make, params):
    one = make(fallback="validate")
    prepared = one.prepare(params)
    assert (prepared.engine, prepared.states) == (None, ())
    assert one.check(prepared.constraint, "ab") == "validated"
    assert asyncio.run(one.check_async(prepared.constraint, "b")) == "violated"
    assert one.prepare(regex("a{9}")).engine == "flat", "what can be enforced is"


def test_without_an_engine_texts_can_be_checked(make, sandbox):
    one = StructuredOutputs((), StructuredConfig(fallback="validate"), sandbox)
    assert one.prepare(regex("a")).engine is None
    with pytest.raises(ParameterError, match="cannot be compared with it"):
        one.prepare(StructuredOutputsParams(grammar='root ::= "a"'))


def test_a_text_that_cannot_be_compared_is_not_called_right(make):
    one = make(fallback="validate")
    prepared = one.prepare(regex("(?=a).b"))
    one._sandbox = Scripted(SandboxTimeoutError("too long"))
    assert one.check(prepared.constraint, "ab") == "violated"
    assert asyncio.run(one.check_async(prepared.constraint, "ab")) == "violated"
