"""Our parsers beside vLLM's: of how many random cuts of an answer is the message that of the answer as a whole?

    python benchmarks/parsers/peer.py --vllm ~/.cache/kernelet/benchmarks/vllm-*/bin/python

`benchmarks/cpu/prepare.py --engines vllm` makes that environment. Both sides get the same texts, as the families' chat
templates write them, the same tokens (a marker of the vocabulary is one, everything else one a character) and the same
deltas. Messages are equal if reasoning and content are, but for whitespace at their ends, and the calls' names and
arguments as JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from cases import FAMILIES, TOOLS, Family, make_answer
from cuts import make_cuts

from kernelet.contracts.parsing import ParserContext, ParserOffer, ParserTable
from kernelet.request.message import ParsedMessage
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.table import CompiledTable, combine
from kernelet_parsers_reasoning.plugin import kernelet_reasoning_parsers
from kernelet_parsers_tool.plugin import kernelet_tool_parsers

Message = dict[str, Any]


class Score(NamedTuple):
    """Of one side, for one family.

    Attributes:
        right: Answers that, as a whole, mean what was written.
        single: Answers of which, token by token, the message is that of the whole.
        same: Random cuts of which it is.
        error: Why there is none.
    """

    right: int = 0
    single: int = 0
    same: int = 0
    error: str = ""


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vllm", type=Path, help="Python of an environment with vLLM; without it only ours run")
    parser.add_argument("--answers", type=int, default=20, help="of each family")
    parser.add_argument("--cuts", type=int, default=50, help="of each answer")
    options = parser.parse_args()
    cases = {
        "tools": TOOLS,
        "num_cuts": options.cuts,
        "families": [
            {**family._asdict(), "answers": [make_answer(family, seed) for seed in range(options.answers)]}
            for family in FAMILIES
        ],
    }
    theirs = run_vllm(options.vllm, cases) if options.vllm else {}
    of, num_cuts = options.answers, options.answers * options.cuts
    print(f"| family | whole, of {of} | by token, of {of} | cuts, of {num_cuts} | vLLM: whole | by token | cuts |")
    print("|---|---|---|---|---|---|---|")
    for family, case in zip(FAMILIES, cases["families"], strict=True):
        ours = score(run_ours(family, case["answers"], options.cuts), case["answers"])
        other = vllm_score(theirs.get(family.name, {"error": "not run"}), case["answers"])
        cells = [ours.right, ours.single, ours.same, other.error or other.right, other.single, other.same]
        print(f"| {family.name} | {' | '.join(map(str, cells))} |")


def run_vllm(python: Path, cases: dict[str, Any]) -> dict[str, Any]:
    """Results by family."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "cases.json", Path(folder) / "found.json"
        given.write_text(json.dumps(cases), encoding="utf-8")
        script = Path(__file__).with_name("vllm_side.py")
        subprocess.run([python, script, given, found], check=True, stdout=sys.stderr)
        results: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
    return results


def run_ours(family: Family, answers: list[dict[str, Any]], num_cuts: int) -> list[dict[str, Any]]:
    """Each answer as a whole, and in all its cuts."""
    table = compiled(family)
    rows = []
    for answer in answers:
        spans = spans_of(answer["text"], family.tokens)
        cuts = make_cuts(len(spans), num_cuts)
        rows.append({"whole": parse(table, spans, [len(spans)]), "cuts": [parse(table, spans, ends) for ends in cuts]})
    return rows


def compiled(family: Family) -> CompiledTable:
    """The tables of a family's parsers, combined as the engine does."""
    reasoning, tool = family.ours
    context = ParserContext(
        tools=tuple(TOOLS), prompt="assistant: ", parses_tools=True, parses_reasoning=bool(reasoning)
    )
    calls = table_of(kernelet_tool_parsers(), tool, context)
    thoughts = table_of(kernelet_reasoning_parsers(), reasoning, context) if reasoning else None
    return CompiledTable(combine(calls, thoughts), frozenset(family.tokens).__contains__)


def table_of(offers: Sequence[ParserOffer], name: str, context: ParserContext) -> ParserTable:
    """The table of an offered parser."""
    target = next(offer.target for offer in offers if offer.name == name)
    table: ParserTable = resolve_name(target)(context)
    return table


def spans_of(text: str, tokens: tuple[str, ...]) -> list[Span]:
    """The text by characters and markers."""
    pattern = "|".join([*map(re.escape, sorted(tokens, key=len, reverse=True)), "(?s:.)"])
    return [Span(piece, (0,), special=piece in tokens) for piece in re.findall(pattern, text)]


def parse(table: CompiledTable, spans: list[Span], ends: list[int]) -> Message:
    """The message of an answer in deltas: text of plain tokens that come together is one span."""
    parser = OutputParser(table, TOOLS)
    start = 0
    for end in ends:
        parser.push(joined(spans[start:end]))
        start = end
    return plain(parser.finish())


def joined(spans: list[Span]) -> list[Span]:
    """Plain neighbours as one span."""
    found: list[Span] = []
    for span in spans:
        if found and not span.special and not found[-1].special:
            found[-1] = Span(found[-1].text + span.text, found[-1].token_ids + span.token_ids)
        else:
            found.append(span)
    return found


def plain(message: ParsedMessage) -> Message:
    """As JSON has it."""
    calls = [[call.name, call.arguments] for call in message.tool_calls]
    return {"reasoning": message.reasoning, "content": message.content, "calls": calls}


def score(rows: list[dict[str, Any]], answers: list[dict[str, Any]]) -> Score:
    """How well one side did."""
    right = sum(comparable(row["whole"]) == comparable(answer) for row, answer in zip(rows, answers, strict=True))
    equal = [[comparable(cut) == comparable(row["whole"]) for cut in row["cuts"]] for row in rows]
    return Score(right=right, single=sum(first for first, *_ in equal), same=sum(sum(others) for _, *others in equal))


def vllm_score(result: dict[str, Any], answers: list[dict[str, Any]]) -> Score:
    """The same of what vLLM's side wrote."""
    return Score(error=result["error"]) if "error" in result else score(result["rows"], answers)


def comparable(message: Message) -> object:
    """What counts of a message; an error is equal to nothing, not even to the same error."""
    if "error" in message:
        return object()
    calls = [(name, loaded(arguments)) for name, arguments in message["calls"]]
    return message["reasoning"].strip(), message["content"].strip(), calls


def loaded(arguments: object) -> object:
    """JSON as a value; what is none, as its text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


if __name__ == "__main__":
    main()
