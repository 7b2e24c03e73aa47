"""What is written of shapes, held against what the shapes say."""

from __future__ import annotations

import json
from itertools import permutations, product
from random import Random

from graph_values import allows

from kernelet.contracts.structured import GrammarRules
from kernelet.structured.refusal import InvalidConstraintError
from kernelet.structured.rules import RuleWriter
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.schema.shapes import SchemaGraph
from kernelet.structured.schema.write.nodes import write_graph
from kernelet.structured.schema.write.scribe import Scribe
from kernelet.testing.grammar_engine.recognizer import Recognizer
from kernelet.testing.grammar_engine.sample import sample_text

COMPACT = JsonOptions(max_whitespace=0)


class Language:
    """The texts of rules; None: there are none."""

    def __init__(self, rules: GrammarRules | None) -> None:
        self.rules = rules
        self._recognizer = Recognizer(rules) if rules else None

    def __contains__(self, text: str) -> bool:
        state = self._recognizer.read(text) if self._recognizer else None
        return state is not None and state.is_whole

    def samples(self, random: Random, count: int) -> list[str]:
        return [sample_text(self.rules, random) for _ in range(count)] if self.rules else []


def language(write) -> Language:
    """Of the expression that ``write`` makes with a scribe that knows no nodes, or with its rules."""
    scribe = Scribe(COMPACT, lambda node: None)
    return finished(scribe.rules, write(scribe))


def finished(rules: RuleWriter, expression) -> Language:
    try:
        return Language(rules.finish(expression))
    except InvalidConstraintError:
        return Language(None)


def graph_of(*nodes) -> SchemaGraph:
    """Nodes, the first of which is the root; a shape stands for a node of it alone."""
    return SchemaGraph(nodes=[node if isinstance(node, tuple) else (node,) for node in nodes])


def language_of_graph(graph: SchemaGraph, options: JsonOptions = COMPACT) -> Language:
    try:
        return Language(write_graph(graph, options))
    except InvalidConstraintError:
        return Language(None)


def agree(graph: SchemaGraph, values, random: Random, samples: int = 15) -> Language:
    """Every text that is written is allowed; of each value some text is written exactly where it is allowed."""
    written = language_of_graph(graph)
    for text in written.samples(random, samples):
        assert allows(graph, json.loads(text)), text
    for value in values:
        assert any(text in written for text in texts(value)) == allows(graph, value), value
    return written


def texts(value):
    """A value as serializers write it, its properties in any order, 1 for 1.0."""
    for each in (value, _whole(value)):
        for ordered in _orders(each):
            yield json.dumps(ordered, separators=(",", ":"))
            yield json.dumps(ordered, separators=(",", ":"), ensure_ascii=False)


def _whole(value):
    if isinstance(value, list):
        return list(map(_whole, value))
    if isinstance(value, dict):
        return {name: _whole(member) for name, member in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _orders(value):
    if isinstance(value, list):
        yield from map(list, product(*map(_orders, value)))
    elif isinstance(value, dict):
        for members in permutations(value.items()):
            for chosen in product(*(_orders(member) for _, member in members)):
                yield dict(zip((name for name, _ in members), chosen, strict=True))
    else:
        yield value
