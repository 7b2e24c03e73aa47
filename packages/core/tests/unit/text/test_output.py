from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.text.output import OutputAssembler, OutputDelta, TextOptions
from kernelet.text.stop import StopStrings


def run(tokenizer, groups, stops=(), **options):
    assembler = OutputAssembler(tokenizer, [], StopStrings(stops) if stops else None, TextOptions(**options))
    text, count = "", 0
    for group in groups:
        delta = assembler.push(group)
        text += delta.text
        count += delta.num_tokens
        if delta.stop is not None:
            return text, count, delta.stop
    delta = assembler.finish()
    return text + delta.text, count, delta.stop


@given(data=st.data())
def test_groups_of_tokens_do_not_matter(exact, data):
    ids = exact.encode("The quick brown fox 🙂 jumps over the lazy dog.", add_special_tokens=False)
    stops = data.draw(st.lists(st.sampled_from(["ox 🙂", "lazy", "z", "dog.", "xyz", "T", "."]), max_size=3))
    minimum = data.draw(st.integers(0, len(ids)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ids)))))
    groups = [ids[a:b] for a, b in zip([0, *cuts], [*cuts, len(ids)], strict=True)]
    one_by_one = run(exact, [[index] for index in ids], stops, min_tokens=minimum)
    assert run(exact, groups, stops, min_tokens=minimum) == one_by_one
    assert one_by_one[1] > minimum or one_by_one[2] is None


def test_text_without_stop_strings(exact):
    ids = exact.encode("Hello 🙂", add_special_tokens=False)
    assert run(exact, [ids]) == ("Hello 🙂", len(ids), None)


def test_tokens_behind_a_stop_string_do_not_count(byte_level):
    ids = byte_level.encode("ab stop cd")
    needed = next(n for n in range(len(ids)) if "stop" in byte_level.decode(ids[:n]))
    assert run(byte_level, [ids], ["stop"]) == ("ab ", needed, "stop")
    assert run(byte_level, [ids], ["stop"], include_stop_str_in_output=True) == ("ab stop", needed, "stop")


def test_min_tokens(byte_level):
    ids = byte_level.encode("stop and stop again")
    assert run(byte_level, [ids], ["stop"])[0] == ""
    assert run(byte_level, [ids], ["stop"], min_tokens=8)[0] == "stop and "
    assert run(byte_level, [ids], ["stop"], min_tokens=len(ids))[0] == "stop and stop again"


@pytest.mark.parametrize("include, text", [(False, "ab"), (True, "abc")])
def test_the_token_that_ended_the_text(byte_level, include, text):
    [last] = byte_level.encode("c")
    assembler = OutputAssembler(byte_level, [], options=TextOptions(include_stop_str_in_output=include))
    delta = assembler.push([*byte_level.encode("ab"), last], ends_with_stop_token=True)
    assert delta.text + assembler.finish().text == text


def test_finish_shows_what_was_held(byte_level):
    smile = byte_level.encode("🙂")
    assembler = OutputAssembler(byte_level, [], StopStrings(["bcd"]))
    assert assembler.push(byte_level.encode("abc")).text == "a"
    assert assembler.push(smile[:1]).text == ""
    assert assembler.finish() == OutputDelta("bc\ufffd", 0)
    assert assembler.finish() == OutputDelta("", 0)
    with pytest.raises(ValueError, match="has ended"):
        assembler.push([1])


def test_a_stop_string_in_the_flushed_end(byte_level):
    assembler = OutputAssembler(byte_level, [], StopStrings(["\ufffd"]))
    assembler.push(byte_level.encode("a🙂")[:-1])
    assert assembler.finish() == OutputDelta("", 0, "\ufffd")


def test_special_tokens(byte_level):
    ids = byte_level.encode("a</s>b")
    assert run(byte_level, [ids])[0] == "ab"
    assert run(byte_level, [ids], skip_special_tokens=False)[0] == "a</s>b"


def test_nothing_after_a_stop_string(byte_level):
    assembler = OutputAssembler(byte_level, [], StopStrings(["b"]))
    assert assembler.push(byte_level.encode("abc")).stop == "b"
    with pytest.raises(ValueError, match="has ended"):
        assembler.push([1])
    assert assembler.finish() == OutputDelta("", 0)
