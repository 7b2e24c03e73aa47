from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from kernelet.contracts.sampling import SamplerParams
from kernelet.contracts.structured import Chars, Repeat, Text
from kernelet.engine.structured.start import Starter
from kernelet.errors import ParameterError, SandboxMemoryError, SandboxTimeoutError, UnenforcedConstraintError
from kernelet.request.structured import Exit, FreeState, Marker, StructuredRequest
from kernelet.testing.null.harness import null_core, null_engine_config, null_request
from kernelet.testing.null.tokens import generate

from .conftest import DIGITS, EOS, THREE, YES_OR_NO, held_to

GREEDY = SamplerParams(seed=0, temperature=0.0)
WIDE = Repeat(Chars(((33, 126),)), 8, 8)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_texts_are_held_to_their_constraints_beside_free_ones(world, compiler, depth):
    one = world(depth)
    for index in range(4):
        one.add(f"choice{index}", YES_OR_NO, params=SamplerParams(seed=index))
        one.add(f"digits{index}", DIGITS, params=SamplerParams(seed=index), stops=())
    one.add("free", prompt=[7])
    one.run()
    for index in range(4):
        assert one.text(f"choice{index}") in {b"yes", b"no"}
        assert (one.ends[f"choice{index}"].finish_reason, one.tokens[f"choice{index}"][-1]) == ("stop", EOS)
        assert one.text(f"digits{index}").isdigit()
        assert len(one.tokens[f"digits{index}"]) == 12
        assert one.ends[f"digits{index}"].finish_reason == "length"
    assert one.tokens["free"] == generate([7], GREEDY, 260, 12)
    assert one.ends["free"].structured is None
    assert {output.structured for name, output in one.ends.items() if name != "free"} == {"enforced"}
    assert len(compiler.compiled) == 2, "equal constraints are compiled once"


def test_the_text_is_the_same_for_every_number_of_steps_in_flight(world):
    found = []
    for depth in (1, 2, 3):
        one = world(depth)
        for index in range(6):
            one.add(f"r{index}", WIDE, params=SamplerParams(seed=index))
        found.append(one.run().tokens)
    assert found[0] == found[1] == found[2]
    assert len({tuple(tokens) for tokens in found[0].values()}) > 1


def test_others_go_on_while_a_constraint_is_compiled_and_it_keeps_its_place(world, compiler):
    compiler.gate.clear()
    one = world()
    one.add("held", YES_OR_NO)
    one.add("free", prompt=[7], max_tokens=40)
    for _ in range(10):
        one.step()
    assert len(one.tokens["free"]) == 10
    assert one.core.stats().num_waiting == 1
    compiler.gate.set()
    one.run()
    assert one.text("held") in {b"yes", b"no"}
    assert one.tokens["free"] == generate([7], GREEDY, 260, 40)


def test_nothing_spins_while_all_wait(world, compiler):
    compiler.gate.clear()
    one = world()
    one.add("held", YES_OR_NO)
    assert one.core.has_unfinished()
    assert not one.core.can_step()
    assert one.core.step() == []
    assert not one.woken.is_set()
    compiler.gate.set()
    assert one.woken.wait(60)
    assert one.core.can_step()
    assert one.run().ends["held"].structured == "enforced"


def test_a_constraint_that_is_kept_starts_at_once(world, compiler):
    one = world()
    one.add("first", YES_OR_NO)
    one.run()
    compiler.gate.clear()
    one.add("second", YES_OR_NO)
    assert one.core.can_step()
    assert one.run().text("second") in {b"yes", b"no"}


def test_what_does_not_fit_the_cache_is_compiled_again(world, compiler):
    one = world(cache_bytes=0)
    for name in ("first", "second"):
        one.add(name, YES_OR_NO)
        one.run()
    assert len(compiler.compiled) == 2


def test_equal_constraints_are_compiled_once_together(world, compiler):
    compiler.gate.clear()
    one = world()
    for index in range(30):
        one.add(f"r{index}", YES_OR_NO)
    compiler.gate.set()
    one.run()
    assert len(compiler.compiled) == 1
    assert {one.text(f"r{index}") for index in range(30)} <= {b"yes", b"no"}


def test_two_engines_in_one_batch(world, compiler):
    one = world()
    one.add("a", YES_OR_NO, engine="one")
    one.add("b", YES_OR_NO, engine="another")
    one.run()
    assert sorted(name for name, _ in compiler.compiled) == ["another", "one"]
    assert {one.ends[name].structured for name in "ab"} == {"enforced"}


def test_an_engine_that_fails_ends_its_requests_alone(world):
    one = world()
    one.add("a", YES_OR_NO, engine="broken")
    one.add("b", YES_OR_NO, engine="broken")
    one.add("c", YES_OR_NO)
    one.run()
    for name in "ab":
        end = one.ends[name]
        assert (end.finish_reason, end.error) == ("error", "the grammar engine 'broken' failed (RuntimeError)")
    assert one.text("c") in {b"yes", b"no"}
    one.add("a", YES_OR_NO)
    assert one.run().text("a") in {b"yes", b"no"}


REFUSED = UnenforcedConstraintError("structured_outputs", ["'a' does not take this constraint: too large"])
LATE, LARGE = SandboxTimeoutError("a took longer than 10 s"), SandboxMemoryError("b needs more memory")
TIMEOUT, MEMORY = "--structured-compile-timeout", "--structured-compile-memory"
CANNOT = "structured_outputs: cannot be enforced: "


@pytest.mark.parametrize(
    "errors, says",
    [
        ({"a": REFUSED}, f"{CANNOT}{REFUSED.reasons[0]}: simplify it, or name another backend"),
        (
            {"a": LATE},
            f"{CANNOT}{LATE}: simplify it, or name another backend, or start with a larger {TIMEOUT}",
        ),
        (
            {"a": LATE, "b": LARGE},
            f"{CANNOT}{LATE}; {LARGE}: simplify it, or start with a larger {TIMEOUT}, or start with a larger {MEMORY}",
        ),
        ({"a": RuntimeError("secret"), "b": REFUSED}, f"{CANNOT}the grammar engine 'a' failed (RuntimeError); "),
    ],
)
def test_what_no_engine_can_compile_is_the_fields_error_and_says_what_to_do(world, compiler, errors, says):
    compiler.errors = errors
    one = world()
    first, *others = errors
    one.add("held", YES_OR_NO, engine=first, others=tuple(others))
    end = one.run().ends["held"]
    assert (end.finish_reason, end.error_parameter) == ("error", "structured_outputs")
    assert end.error.startswith(says)


def test_the_next_engine_compiles_where_one_fails_and_is_remembered(world, compiler):
    compiler.errors = {"a": LATE, "b": RuntimeError("secret")}
    one = world()
    for name in ("r0", "r1"):
        one.add(name, YES_OR_NO, engine="a", others=("b", "c", "d"))
    one.run()
    assert [name for name, _ in compiler.compiled] == ["a", "b", "c"], "once for both"
    one.add("r2", YES_OR_NO, engine="a", others=("b", "c", "d"))
    one.add("r3", YES_OR_NO, engine="a")
    one.run()
    assert [name for name, _ in compiler.compiled] == ["a", "b", "c", "a"], "what was named is tried again"
    assert [one.ends[f"r{index}"].structured for index in range(3)] == ["enforced"] * 3
    assert one.ends["r3"].finish_reason == "error"


def test_the_engines_have_one_deadline_together(world, compiler):
    compiler.errors = {"a": RuntimeError("at once")}
    one = world(compile_timeout=30.0)
    one.add("held", YES_OR_NO, engine="a", others=("b",))
    one.run()
    assert 29.0 < compiler.seconds[1] < compiler.seconds[0] == 30.0


def test_the_next_engine_has_a_part_of_the_deadline_at_least(world, compiler, monkeypatch):
    compiler.errors = {"a": LATE}
    now = iter((0.0, 10.1, 20.0))
    one = world()
    monkeypatch.setattr("kernelet.engine.structured.grammars.time", SimpleNamespace(monotonic=lambda: next(now)))
    one.add("held", YES_OR_NO, engine="a", others=("b",))
    one.run()
    assert compiler.seconds == [10.0, 2.5]


def test_constraints_that_take_long_hold_up_no_others(world, compiler):
    """Two run on, the others give way, and come to their turn once those have ended."""
    one = world()
    hostile = [Text(f"x{index}") for index in range(6)]
    for index, expression in enumerate(hostile):
        one.add(f"late{index}", expression, engine="late", others=("b",))
    one.add("new", YES_OR_NO)
    assert one.run(until=lambda: "new" in one.ends).text("new") in {b"yes", b"no"}
    assert list(one.ends) == ["new"]
    compiler.ends.set()
    one.run()
    assert [one.ends[f"late{index}"].structured for index in range(6)] == ["enforced"] * 6


def test_too_many_that_wait_are_told_to_come_again(world, compiler, monkeypatch):
    monkeypatch.setattr("kernelet.engine.structured.lanes.MAX_WAITING", 1)
    compiler.gate.clear()
    one = world()
    for name in "abcd":
        one.add(name, Text(name), others=("b",))
    one.run(until=lambda: "d" in one.ends)
    end = one.ends["d"]
    assert (end.error, end.try_again) == ("1 other constraints wait to be compiled: try again later", True)
    compiler.gate.set()
    one.run()
    assert [one.ends[name].structured for name in "abc"] == ["enforced"] * 3
    one.add("d", Text("d"))
    assert one.run().ends["d"].structured == "enforced"


def test_another_engine_is_tried_inline_too(world, compiler):
    compiler.errors = {"a": LATE}
    one = world(compile_inline=True)
    one.add("held", YES_OR_NO, engine="a", others=("b",))
    assert one.core.can_step()
    assert one.run().ends["held"].structured == "enforced"


def test_what_nobody_waits_for_any_more_is_stopped(world, compiler):
    one = world()
    one.add("r0", YES_OR_NO, engine="stuck")
    one.add("r1", YES_OR_NO, engine="stuck", others=("b",))
    assert compiler.stuck.wait(60)
    one.core.abort(["r0"])
    (flight,) = one.grammars._flights.values()
    assert not flight.stop._helper.killed.is_set(), "another waits"
    one.core.abort(["r1"])
    assert flight.stop._helper.killed.is_set()
    compiler.errors = {"stuck": LATE}
    one.add("r2", YES_OR_NO, engine="stuck", others=("b",))
    assert one.run().ends["r2"].structured == "enforced"
    assert one.grammars._wanted == one.grammars._flights == {}


@pytest.mark.parametrize("method", ["accept", "fill_mask", "can_end"])
def test_a_grammar_that_fails_in_a_step_ends_its_request_alone(world, compiler, monkeypatch, method):
    one = world(depth=2)
    one.add("bad", DIGITS, stops=())
    one.add("good", DIGITS, stops=())
    one.add("free", prompt=[7])
    one.step()
    requests = {request.request_id: request for request in one.core._scheduler._requests}

    def fail(*_):
        raise RuntimeError("with a secret")

    monkeypatch.setattr(requests["bad"].grammar._grammar, method, fail, raising=False)
    one.run()
    assert one.ends["bad"].error == "the grammar engine 'reference' failed (RuntimeError)"
    assert one.text("good").isdigit()
    assert len(one.tokens["good"]) == 12
    assert one.tokens["free"] == generate([7], GREEDY, 260, 12)


def test_a_worker_that_ignores_masks_is_noticed(world, monkeypatch):
    one = world()
    monkeypatch.setattr("kernelet.testing.null.worker.masked", lambda result, *_: result)
    one.add("a", DIGITS, stops=())
    assert "does not apply mask rows" in one.run().ends["a"].error


def test_aborts_while_compiling_leave_nothing(world, compiler):
    compiler.gate.clear()
    one = world()
    for index in range(5):
        one.add(f"r{index}", YES_OR_NO)
    (output,) = one.core.abort(["r0"])
    assert (output.finish_reason, output.structured) == ("abort", "unfinished")
    one.core.abort([f"r{index}" for index in range(5)])
    assert not one.core.has_unfinished()
    compiler.gate.set()
    one.add("next", YES_OR_NO)
    assert one.run().text("next") in {b"yes", b"no"}
    assert one.grammars._wanted == one.grammars._flights == {}


def test_without_a_stop_token_the_end_ends_the_request(world):
    one = world(depth=2)
    one.add("a", YES_OR_NO, stops=())
    one.run()
    assert one.text("a") in {b"yes", b"no"}
    assert (one.ends["a"].finish_reason, one.ends["a"].stop_token_id) == ("stop", None)
    assert len(one.tokens["a"]) == len(one.text("a"))


def test_the_end_beats_min_tokens(world):
    one = world()
    params = SamplerParams(seed=0, min_tokens=10, suppressed_token_ids=(EOS,))
    one.add("must", YES_OR_NO, params=params)
    one.add("may", DIGITS, params=params)
    one.run()
    assert one.text("must") in {b"yes", b"no"}
    assert (one.ends["must"].finish_reason, one.ends["must"].stop_token_id) == ("stop", EOS)
    assert len(one.text("may")) >= 10


def test_a_text_that_is_cut_is_unfinished(world):
    one = world()
    one.add("cut", THREE, max_tokens=2)
    one.add("nothing", THREE, max_tokens=0)
    one.run()
    assert [(one.ends[name].finish_reason, one.ends[name].structured) for name in ("cut", "nothing")] == [
        ("length", "unfinished"),
        ("length", "unfinished"),
    ]


def test_preemption_keeps_where_the_text_stands(world):
    roomy, tight = world(), world(num_blocks=12, context=44)
    for one in (roomy, tight):
        for index in range(4):
            one.add(f"r{index}", DIGITS, stops=(), params=SamplerParams(seed=index), prompt=[index] * 9)
        one.run()
    assert sum(step.num_preempted for step in tight.core.take_step_stats()) > 0
    assert tight.tokens == roomy.tokens
    assert all(one.structured == "enforced" for one in tight.ends.values())


def test_compiling_inline_needs_no_news(world, compiler):
    one = world(compile_inline=True)
    one.add("a", YES_OR_NO)
    one.add("b", YES_OR_NO, engine="broken")
    assert len(compiler.compiled) == 2, "before add returned"
    assert one.core.can_step()
    assert one.run().text("a") in {b"yes", b"no"}
    assert one.ends["b"].finish_reason == "error"


def program_of(expression):
    """Free text up to a mark, then rules."""
    (rules,) = held_to(expression).states
    free = FreeState(exits=(Exit(marker=Marker(text="#"), next=1),), may_end=False)
    return StructuredRequest(engine="reference", states=(free, rules))


def test_a_program_runs_and_its_index_is_made_beside_the_steps(world, monkeypatch):
    threads = []
    plain = Starter.warm

    def warm(self, vocabulary):
        threads.append(threading.current_thread())
        plain(self, vocabulary)

    monkeypatch.setattr(Starter, "warm", warm)
    one = world()
    for index in range(3):
        params = SamplerParams(seed=index)
        request = null_request(
            f"r{index}", [1], 200, structured=program_of(YES_OR_NO), stop_token_ids=(EOS,), params=params
        )
        one.core.add_request(request)
    one.run()
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()
    for index in range(3):
        text = one.text(f"r{index}")
        whole = text.partition(b"#")[2] in {b"yes", b"no"}
        assert one.ends[f"r{index}"].structured == ("enforced" if whole else "unfinished")


def test_a_vocabulary_that_cannot_be_read_ends_its_requests_alone(world, monkeypatch):
    def warm(self, vocabulary):
        raise ParameterError("structured_outputs", "the model has no tokenizer")

    monkeypatch.setattr(Starter, "warm", warm)
    one = world()
    one.core.add_request(null_request("bad", [1], structured=program_of(YES_OR_NO), stop_token_ids=(EOS,)))
    one.add("good", YES_OR_NO)
    one.run()
    assert one.ends["bad"].error == "structured_outputs: the model has no tokenizer"
    assert one.ends["bad"].error_parameter == "structured_outputs"
    assert one.ends["good"].structured == "enforced"


def test_a_core_without_grammars_refuses():
    core, _ = null_core(null_engine_config())
    with pytest.raises(ParameterError, match="holds no text to a constraint"):
        core.add_request(null_request("a", [1], structured=held_to(DIGITS)))
    assert not core.has_unfinished()


def test_closing_ends_the_compiler(world, compiler):
    compiler.gate.clear()
    one = world()
    one.add("a", YES_OR_NO)
    one.core.close()
    assert compiler.closed == 1
