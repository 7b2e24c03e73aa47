"""``kernelet parsers``: what parses answers, and what one makes of a text."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelet.cli.output import message_object, print_json, print_table, printable
from kernelet.cli.plugin_options import add_plugin_options, boot
from kernelet.cli.usage import UsageError
from kernelet.contracts.parsing import ParserContext, ParserOffer, ReasoningParserOffer, ToolParserOffer
from kernelet.errors import ConfigError, SelectionError

if TYPE_CHECKING:
    from kernelet.engine.parsing import NamedParser
    from kernelet.kernel import Kernel
    from kernelet.request.message import ParsedMessage

KINDS: tuple[tuple[str, type[ParserOffer]], ...] = (("tool", ToolParserOffer), ("reasoning", ReasoningParserOffer))


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommands."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = commands.add_parser("list", help="all parsers, and the models whose chat templates they fit")
    trying = commands.add_parser("try", help="parse a text as a model wrote it")
    trying.add_argument("name", metavar="NAME", help="the parser's name, as in the list")
    trying.add_argument("file", metavar="FILE", help="the text, special tokens written out; - reads standard input")
    trying.add_argument(
        "--kind",
        choices=(*(kind for kind, _ in KINDS), "both"),
        default="both",
        help="parsers of that name that run; both: those that there are (default)",
    )
    trying.add_argument("--cut", type=int, metavar="N", help="feed the text in two pieces, split after character N")
    trying.add_argument("--tools", metavar="FILE", help="JSON list of the tools, for the types of their parameters")
    trying.add_argument(
        "--prompt",
        metavar="TEXT",
        default="",
        help="end of the prompt (default: what opens reasoning, if the text only ends it)",
    )
    for one in (listing, trying):
        one.add_argument("--json", action="store_true", help="JSON")
        add_plugin_options(one)


def run(options: argparse.Namespace) -> int:
    """Does what was asked."""
    if options.action == "list":
        print_list(rows(boot(options)), as_json=options.json)
        return 0
    text = read_text(options.file)
    tools = () if options.tools is None else read_tools(options.tools)
    if options.cut is not None and not 0 <= options.cut <= len(text):
        raise UsageError(f"--cut {options.cut}: the text has {len(text)} characters, expected 0 to {len(text)}")
    message = parsed(find(boot(options), options.name, options.kind), text, options.cut, tools, options.prompt)
    if options.json:
        print_json(message_object(message))
    else:
        print_message(message)
    return 0


def rows(kernel: Kernel) -> list[dict[str, Any]]:
    """One object a parser."""
    origins = {report.name: report.distribution or report.path for report in kernel.reports}
    return [
        {
            "name": owned.offer.name,
            "kind": label,
            "distribution": origins[owned.plugin],
            "hints": list(owned.offer.chat_template_hints),
            "summary": owned.offer.summary,
        }
        for label, kind in KINDS
        for owned in kernel.offers(kind)
    ]


def print_list(found: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """One row a parser."""
    if as_json:
        print_json(found)
        return
    cells = [
        (row["name"], row["kind"], row["distribution"], " ".join(row["hints"]).replace("\n", "\\n"), row["summary"])
        for row in found
    ]
    print_table(("NAME", "KIND", "DISTRIBUTION", "HINTS", "SUMMARY"), cells)


def find(kernel: Kernel, name: str, kind: str) -> dict[str, NamedParser]:
    """The parsers of a name, by kind.

    Raises:
        SelectionError: there is none of the kind; lists those that there are.
        PluginError: one cannot be imported.
    """
    from kernelet.engine.parsing import find_parser

    wanted = {label: offer for label, offer in KINDS if kind in {label, "both"}}
    known = {label: [owned.offer.name for owned in kernel.offers(offer)] for label, offer in wanted.items()}
    there = {label: offer for label, offer in wanted.items() if name in known[label]}
    if there:
        return {label: find_parser(kernel, offer, name) for label, offer in there.items()}
    if len(wanted) == 1:
        find_parser(kernel, next(iter(wanted.values())), name)
    from kernelet.kernel.allow import close_to

    names = "; ".join(f"{label} parsers: {', '.join(found) or 'none'}" for label, found in known.items())
    every = {one for found in known.values() for one in found}
    raise SelectionError(f"no parser is named {name!r}{close_to(name, every)}. Installed are {names}. {how_to_get()}")


def how_to_get() -> str:
    """What to install for more."""
    from kernelet.kernel.kinds import kind_of

    text = kind_of(ToolParserOffer).how_to_get
    return f"For another, {text}"


def parsed(
    parsers: Mapping[str, NamedParser],
    text: str,
    cut: int | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
    prompt: str = "",
) -> ParsedMessage:
    """What parsers make of a text, in which all markers are looked for.

    Args:
        parsers: By kind.
        text: All of the answer.
        cut: Where it is cut in two.
        tools: As requests have them.
        prompt: Its end; empty: it opened reasoning if the text has the end of reasoning without its begin.

    Raises:
        RequestFailedError: a parser failed.
    """
    from kernelet.engine.parsing import Parsers, functions_of
    from kernelet.text.detokenizer import Span
    from kernelet.text.parsing.opened import opened_by_prompt

    tool, reasoning = parsers.get("tool"), parsers.get("reasoning")
    context = ParserContext(
        tools=functions_of(tools),
        prompt=prompt,
        parses_tools=tool is not None,
        parses_reasoning=reasoning is not None,
    )
    if reasoning is not None and not prompt:
        context = replace(context, prompt=opened_by_prompt(reasoning.table(context), text))
    parser = Parsers(reasoning=reasoning).compile(tool, context).new_parser()
    for piece in (text,) if cut is None else (text[:cut], text[cut:]):
        parser.push([Span(piece, ())])
    return parser.finish()


def read_text(file: str) -> str:
    """The content of a file, or of standard input, as it is.

    Raises:
        ConfigError: it cannot be read, or is no UTF-8.
    """
    name = "standard input" if file == "-" else file
    try:
        return (sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()).decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is no UTF-8 text: byte {error.start} is none") from error


def read_tools(file: str) -> Sequence[Mapping[str, Any]]:
    """Tools as requests have them.

    Raises:
        ConfigError: the file holds something else.
    """
    text = read_text(file)
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{file} is no JSON: {error}") from error
    if not isinstance(found, list) or not all(isinstance(tool, dict) for tool in found):
        raise ConfigError(f"{file}: expected a list of objects, as `tools` of a request is")
    return found


def print_message(message: ParsedMessage) -> None:
    """A message for people: each part under its name, as it is."""
    parts = [("reasoning", message.reasoning)] if message.reasoning else []
    if message.content or not message.tool_calls:
        parts.append(("content", message.content))
    parts += [(f"call of {call.name}", call.arguments) for call in message.tool_calls]
    print("\n\n".join(printable(f"{name}:\n{text}") for name, text in parts))
