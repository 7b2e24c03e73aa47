from __future__ import annotations

import random
import re

import msgspec
import numpy as np
import pytest
import sample_parsers

from kernelet.config import PluginsConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    Exit,
    ParserContext,
    ParserTable,
    ReasoningParserOffer,
    TextState,
    ToolParserOffer,
)
from kernelet.contracts.structured import Chars, Concat, GrammarRules, Repeat, Text
from kernelet.engine.parsing import ChoiceParser, find_parser, make_parsers
from kernelet.engine.reasoning import PROMPT_END, start_thought, without_thoughts
from kernelet.engine.structured.start import Starter
from kernelet.errors import RequestFailedError
from kernelet.request.structured import Exit as MarkerExit
from kernelet.request.structured import FreeState, Marker, RulesState, StructuredRequest
from kernelet.testing.grammar_engine.reference import ReferenceEngine
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.text.parsed_output import ParsedAssembler
from kernelet.text.tokenizer import Tokenizer
from kernelet.text.vocabulary import token_vocabulary


def channels(context):
    """Thoughts between two special tokens of the tests' tokenizer."""
    if context.template_kwargs.get("fails"):
        raise LookupError("no table today")
    end = Exit("<|assistant|>", CONTENT, after="\n")
    keeps = context.template_kwargs.get("keeps", False)
    return ParserTable(
        states={REASONING: TextState(into=REASONING, exits=(Exit("{", CONTENT, keeps=True) if keeps else end,))},
        content_exits=(Exit("<|user|>", REASONING), end),
        start=REASONING if context.prompt.rstrip().endswith("<|user|>") or context.prompt[:1] == "!" else CONTENT,
    )


def early(context):
    """Calls that end reasoning."""
    return ParserTable(
        content_exits=(Exit("<s>", CONTENT, in_reasoning=True), Exit("<call", CONTENT, in_reasoning=True))
    )


PLUGINS = FixedPlugins(
    (
        *sample_parsers.kernelet_reasoning_parsers(),
        ReasoningParserOffer(name="channels", target=f"{__name__}:channels"),
        ToolParserOffer(name="early", target=f"{__name__}:early"),
    )
)
DIGITS = GrammarRules({"root": Concat((Text("["), Repeat(Chars(((48, 57),)), 1, 3), Text("]")))})
TOOLS = [{"type": "function", "function": {"name": "f"}}]


@pytest.fixture(scope="module")
def tokenizer(null_folder):
    return Tokenizer.from_folder(null_folder)


@pytest.fixture(scope="module")
def vocabulary(tokenizer):
    return token_vocabulary(tokenizer, 260)


def parsers_of(name, tokenizer, tool=None):
    return make_parsers(PluginsConfig(reasoning_parser=name, tool_call_parser=tool), PLUGINS, tokenizer)


def started(gate, vocabulary):
    engine = ReferenceEngine(Settings(plugin="reference"), vocabulary)
    state = RulesState(rules=b"", digest="digits")
    structured = StructuredRequest(engine="reference", states=(state,), reasoning=gate)
    return Starter(PLUGINS)(structured, {"digits": engine.load(engine.compile(DIGITS))}, vocabulary)


def generate(grammar, seed, likely, size=60):
    """A random answer, and whether it may end."""
    choose, ids = random.Random(seed), []
    while len(ids) < size and not grammar.must_end() and not (grammar.can_end() and choose.random() < 0.3):
        row = np.zeros(9, np.int32)
        grammar.fill_mask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
        wanted = [token for token in likely if token in allowed]
        ids.append(choose.choice(wanted if wanted and choose.random() < 0.7 else allowed))
        assert grammar.accept(ids[-1:])
    return ids, grammar.can_end()


PROMPTS = {
    "channels": ("hello <|user|>", "hello", {}),
    "thoughts": ("hello <think>", "hello", {}),
    "thoughts, by a variable": ("hello", "hello", {"thinking": True}),
}


@pytest.mark.parametrize("name", PROMPTS)
@pytest.mark.parametrize("thinking", [True, False])
def test_parser_grammar_and_detokenizer_agree(tokenizer, vocabulary, name, thinking):
    opened, closed, kwargs = PROMPTS[name]
    parsing = parsers_of(name.split(",")[0], tokenizer).parsing(
        opened if thinking else closed, template_kwargs=kwargs if thinking else {}
    )
    held, gate = parsing.held(reasons=True), parsing.reasoner.gate()
    likely = [*b"</think>\n", 258, 259]
    thoughts = 0
    for seed in range(20):
        ids, ends = generate(started(gate, vocabulary), seed, likely)
        parser = ChoiceParser(held)
        assembler = ParsedAssembler(tokenizer, [1], parser, held.marker_ids)
        assembler.push(ids)
        assembler.finish()
        parser.finish(cut=False)
        if ends:
            assert re.fullmatch(r"\[[0-9]{1,3}\]", parser.message.content)
        thoughts += bool(parser.message.num_reasoning_tokens)
    assert thoughts == 20 if thinking else thoughts < 20


def test_as_much_of_the_prompt_as_is_needed(tokenizer):
    parsers = parsers_of("channels", tokenizer)
    gate = parsers.parsing("x" * 9999 + "<|user|>").reasoner.gate()
    assert (len(gate.prompt), gate.prompt[-9:]) == (PROMPT_END, "x<|user|>")
    whole = "!" + "x" * 9999
    assert parsers.parsing(whole).reasoner.gate().prompt == whole  # told by its begin
    assert gate.tokens == {"<|user|>": 258, "<|assistant|>": 259}
    assert (gate.parser, gate.excludes) == ("channels", ())


def test_calls_do_not_end_reasoning(tokenizer):
    gate = parsers_of("channels", tokenizer, "early").parsing("p", TOOLS).reasoner.gate()
    assert gate.excludes == (Marker(text="<s>", token_id=256), Marker(text="<call"))
    assert gate.parses_tools


def test_content_that_is_held_has_no_calls(tokenizer):
    parsing = parsers_of("channels", tokenizer, "early").parsing("p", TOOLS)
    assert parsing.held(reasons=True).tools == ()
    plain = parsing.held(reasons=False)
    assert plain.marker_ids == frozenset()
    assert not plain.table.tokens


def test_parsers_that_fail(tokenizer, vocabulary):
    parser = find_parser(PLUGINS, ReasoningParserOffer, "channels")
    gate = parsers_of("channels", tokenizer).parsing("p", template_kwargs={"keeps": True}).reasoner.gate()
    with pytest.raises(RequestFailedError, match=r"reasoning parser 'channels': .*begin of content"):
        start_thought(parser, gate, vocabulary.token_bytes)
    parsing = parsers_of("channels", tokenizer).parsing("p", template_kwargs={"keeps": True})
    with pytest.raises(RequestFailedError, match="begin of content"):
        parsing.held(reasons=True)
    with pytest.raises(RequestFailedError, match="no table today"):
        parser.table(ParserContext(template_kwargs={"fails": True}))


def test_no_thought_is_opened_in_free_text():
    opening, own = Marker(text="<think>"), MarkerExit(marker=Marker(text="<t"), next=1)
    token = Marker(text="<think>", token_id=5)
    rules = RulesState(rules=b"", digest="")
    free = FreeState(exits=(MarkerExit(marker=Marker(text="<x>"), next=1),), excludes=(Marker(text="no"),))
    found, same = without_thoughts((free, rules), (opening, token))
    assert found == msgspec.structs.replace(free, excludes=(Marker(text="no"), opening, token))
    assert same is rules
    asked_for = FreeState(exits=(own,), excludes=(token,))
    assert without_thoughts((asked_for,), (opening, token)) == (asked_for,)
