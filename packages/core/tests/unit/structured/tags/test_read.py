from __future__ import annotations

import pytest

from kernelet.contracts.structured import GrammarRules, Text
from kernelet.request.structured import Exit, FreeState, Marker, MarkerState, RulesState
from kernelet.structured.refusal import InvalidConstraintError, Refusal, UnenforcedError
from kernelet.structured.rules import decode
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.tags.read import structural_tag_states, texts_of
from kernelet.testing.grammar_engine.reference import recognizes

TOKENS = {"<tool>": 7, "</tool>": 8}
OPTIONS = JsonOptions(max_whitespace=0)


def lower(schema, options):
    """A schema ``{"const": text}`` as rules."""
    assert options is OPTIONS
    if "const" not in schema:
        raise UnenforcedError([Refusal("/nonsense", "nobody knows it")])
    return GrammarRules({"root": Text(schema["const"])})


def states(tag, tokens=None):
    return structural_tag_states(tag, OPTIONS, tokens, lower)


def of(kind, **fields):
    return {"type": kind, **fields}


def schema(text):
    return of("json_schema", json_schema={"const": text})


def tag(begin, content, end):
    return of("tag", begin=begin, content=content, end=end)


def whole(format_):
    return {"type": "structural_tag", "format": format_}


LEGACY = {
    "type": "structural_tag",
    "structures": [
        {"begin": "<f>", "schema": {"const": "1"}, "end": "</f>"},
        {"begin": "<g>", "schema": {"const": "2"}, "end": "</g>"},
    ],
    "triggers": ["<f", "<g"],
}


def holds(state, *texts):
    """Whether these texts, and none of a few others, are what rules derive."""
    rules = decode(state.rules)
    return all(recognizes(rules, text) for text in texts) and not recognizes(rules, texts[0] + "x")


def test_the_list_of_structures():
    free, *rules = states(LEGACY)
    assert isinstance(free, FreeState)
    assert [exit_.marker for exit_ in free.exits] == [Marker(text="<f"), Marker(text="<g")]
    assert free.may_end
    found = {exit_.marker.text: states(LEGACY)[exit_.next] for exit_ in free.exits}
    assert holds(found["<f"], ">1</f>")
    assert holds(found["<g"], ">2</g>")
    assert {one.next for one in rules} == {0}


def test_the_list_of_structures_is_a_triggered_format():
    tags = [tag("<f>", schema("1"), "</f>"), tag("<g>", schema("2"), "</g>")]
    assert states(whole(of("triggered_tags", triggers=["<f", "<g"], tags=tags))) == states(LEGACY)


def test_tokens_of_the_vocabulary():
    free, *_ = found = states(
        whole(of("triggered_tags", triggers=["<tool>"], tags=[tag("<tool>f", schema("1"), "</tool>")])), TOKENS
    )
    (exit_,) = free.exits
    assert exit_.marker == Marker(text="<tool>", token_id=7)
    rules = found[exit_.next]
    assert holds(rules, "f1")
    assert found[rules.next] == MarkerState(exits=(Exit(marker=Marker(text="</tool>", token_id=8), next=0),))


@pytest.mark.parametrize(
    "format_, texts",
    [
        (of("const_string", value="abc"), ["abc"]),
        (schema("1"), ["1"]),
        (of("sequence", elements=[of("const_string", value="a"), schema("1")]), ["a1"]),
        (of("or", elements=[of("const_string", value="a"), schema("1")]), ["a", "1"]),
        (tag("<", schema("1"), ">"), ["<1>"]),
        (tag("<", schema("1"), [">", "/>"]), ["<1>", "<1/>"]),
        (of("regex", pattern="[ab]c?"), ["a", "bc"]),
        (of("grammar", grammar='root ::= "x" | "y" root'), ["x", "yyx"]),
        (
            of("tags_with_separator", tags=[tag("<", schema("1"), ">"), tag("[", schema("2"), "]")], separator=","),
            ["<1>", "", "[2],<1>,[2]"],
        ),
        (
            of("tags_with_separator", tags=[tag("<", schema("1"), ">")], separator=",", at_least_one=True),
            ["<1>", "<1>,<1>"],
        ),
    ],
)
def test_formats_that_rules_can_say(format_, texts):
    (state,) = states(whole(format_))
    assert isinstance(state, RulesState)
    assert holds(state, *texts)


def test_separated_tags():
    separated = of("tags_with_separator", tags=[tag("<", schema("1"), ">")], separator=",")
    (once,) = states(whole({**separated, "stop_after_first": True, "at_least_one": True}))
    assert not recognizes(decode(once.rules), "<1>,<1>")
    assert not recognizes(decode(once.rules), "")
    (or_none,) = states(whole({**separated, "stop_after_first": True}))
    assert recognizes(decode(or_none.rules), "")


def test_text_before_and_behind():
    format_ = of("sequence", elements=[of("any_text", excludes=["no"]), tag("<", of("any_text"), ">"), schema("1")])
    first, second, rules = states(whole(format_))
    assert first == FreeState(
        exits=(Exit(marker=Marker(text="<"), next=1),), may_end=False, excludes=(Marker(text="no"),)
    )
    assert second == FreeState(exits=(Exit(marker=Marker(text=">"), next=2),), may_end=False)
    assert holds(rules, "1")


@pytest.mark.parametrize(
    "flags, may_end, following",
    [({}, True, 0), ({"stop_after_first": True}, True, None), ({"at_least_one": True}, True, 0)],
)
def test_how_often_tags_come(flags, may_end, following):
    found = states(
        whole(of("triggered_tags", triggers=["<"], tags=[tag("<f>", schema("1"), "")], excludes=["no"], **flags))
    )
    free = next(state for state in found if isinstance(state, FreeState))
    assert (free.may_end, free.excludes) == (may_end, (Marker(text="no"),))
    begun = found[free.exits[0].next]
    assert (begun.next if following is None else found[begun.next]) == (None if following is None else free)
    assert isinstance(found[0], RulesState if "at_least_one" in flags else FreeState)


@pytest.mark.parametrize(
    "value, path",
    [
        (whole(of("qwen_xml_parameter", json_schema={})), "/format/type"),
        (whole(of("const_string", value="a", colour=1)), "/format/colour"),
        (whole(of("sequence", elements=[of("or", elements=[of("what")])])), "/format/elements/0/elements/0/type"),
        (whole(tag("a", of("json_schema", json_schema={}), "b")), "/format/content/json_schema/nonsense"),
        (whole(of("json_schema", json_schema={"const": "a"}, style="xml")), "/format/style"),
        ({**LEGACY, "structures": [{"begin": "<f>", "schema": {}, "end": ""}]}, "/structures/0/schema/nonsense"),
        ({**LEGACY, "more": 1}, "/more"),
        ({**whole(schema("1")), "more": 1}, "/more"),
        ({**LEGACY, "structures": [{"begin": "<f>", "end": "", "what": 1}]}, "/structures/0/what"),
        (whole(of("regex", pattern="(?=a)")), "/format/pattern (regex, character 1)"),
        (
            whole(of("triggered_tags", triggers=["<tool>f"], tags=[tag("<tool>f", schema("1"), "")])),
            "/format/triggers/0",
        ),
    ],
)
def test_what_is_refused_is_named(value, path):
    with pytest.raises(UnenforcedError) as caught:
        states(value, TOKENS)
    assert [one.path for one in caught.value.refusals] == [path]


@pytest.mark.parametrize(
    "value, words",
    [
        (3, "/ must be an object"),
        ({"type": "tag"}, "/type must be 'structural_tag'"),
        (whole(3), "/format must be an object"),
        (whole({}), "/format/type must be a text"),
        (whole(of("const_string", value=3)), "/format/value must be a text"),
        (whole(of("json_schema")), "/format/json_schema is missing"),
        (whole(of("or", elements=[])), "/format/elements is empty"),
        (whole(of("sequence", elements=3)), "/format/elements must be a list"),
        (whole(tag("a", None, "b")), "/format/content must be an object"),
        (whole(of("tags_with_separator", tags=[], separator="")), "/format/tags is empty"),
        (
            whole(of("triggered_tags", triggers=[], tags=[tag("a", schema("1"), "")])),
            "/format/triggers must be a list of",
        ),
        (
            whole(of("triggered_tags", triggers=["b"], tags=[tag("a", schema("1"), "")])),
            "begins with none of the triggers",
        ),
        (
            whole(of("triggered_tags", triggers=["a"], tags=[tag("a", schema("1"), "")], at_least_one=3)),
            "/format/at_least_one must be true or false",
        ),
        (whole(of("regex", pattern="a(b")), "structural_tag: /format/pattern (regex, character 2): "),
        ({"type": "structural_tag"}, 'expected "format", or "structures" and "triggers"'),
        ({"type": "structural_tag", "triggers": ["a"]}, 'expected "format", or "structures" and "triggers"'),
        ({**LEGACY, "triggers": ["<x"]}, "begins with none of the triggers"),
    ],
)
def test_what_means_nothing_is_said(value, words):
    with pytest.raises(InvalidConstraintError) as caught:
        states(value)
    assert words in str(caught.value)


def test_texts_in_which_tokens_may_stand():
    assert texts_of(whole(tag("a", of("any_text"), ["b", "c"]))) == ["structural_tag", "tag", "a", "any_text", "b", "c"]
    assert texts_of(3) == []


def test_schemas_are_lowered_by_core():
    found = structural_tag_states(whole(of("json_schema", json_schema={"enum": [1, "a"]})), OPTIONS)
    assert holds(found[0], "1", '"a"')
