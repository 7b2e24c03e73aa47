"""``kernelet grammar``: which engine enforces a constraint, and which texts it lets through."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kernelet.cli.engine_options import add_option, resolved_options
from kernelet.cli.output import print_json, print_table
from kernelet.cli.parsers import read_text
from kernelet.cli.plugin_options import add_plugin_options
from kernelet.cli.usage import UsageError
from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.engine.options import OPTIONS
from kernelet.errors import ConfigError

if TYPE_CHECKING:
    from kernelet.engine.structured.checker import Checked, GrammarChecker, Tokenize

AT_A_TIME = 2
"""Constraints of a batch that are looked at together: as many as there are helpers."""

FORMS = ("schema", "regex", "grammar")

NOT_HERE = frozenset({"structured_outputs_backend", "structured_fallback", "structured_mask_timeout"})
"""Options of structured output that say nothing here."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = commands.add_parser(
        "check",
        help="who enforces a constraint, and which texts it lets through",
        description="Says which grammar engine would serve a constraint, or what of it is refused and why, and of each "
        "text whether it is accepted to its end. The exit code is 1 where the constraint is refused or a text is not "
        "accepted; with --json it only says whether there is a result.",
    )
    check.add_argument("schema", nargs="?", metavar="SCHEMA.json", help="a JSON schema; - reads standard input")
    check.add_argument("--regex", metavar="FILE", help="a regular expression instead")
    check.add_argument("--grammar", metavar="FILE", help="a grammar in GBNF or Lark's notation instead")
    check.add_argument("--batch", metavar="FILE.jsonl", help='lines {"schema": ..., "instances": [TEXT, ...]} instead')
    check.add_argument(
        "--instances", metavar="FILE.jsonl", help="texts to try, one a line, as a model would write them"
    )
    check.add_argument(
        "--engine", default="auto", metavar="NAME", help="the engine; auto: the best that fits (default)"
    )
    check.add_argument("--tokenizer", metavar="MODEL", help="the model whose tokens are used; default: single bytes")
    check.add_argument("--json", action="store_true", help="JSON")
    add_plugin_options(check)
    group = check.add_argument_group("structured output")
    for spec in OPTIONS:
        if spec.name.startswith("structured_") and spec.name not in NOT_HERE:
            add_option(group, spec)


def run(options: argparse.Namespace) -> int:
    """Does what was asked."""
    given = [name for name in (*FORMS, "batch") if getattr(options, name) is not None]
    if len(given) != 1:
        raise UsageError("give one of SCHEMA.json, --regex FILE, --grammar FILE and --batch FILE.jsonl")
    if options.batch is not None and options.instances is not None:
        raise UsageError("--instances: the lines of --batch have their own")
    with checker(options) as one:
        return run_batch(options, one) if options.batch is not None else run_single(options, given[0], one)


def run_single(options: argparse.Namespace, form: str, checker: GrammarChecker) -> int:
    """One constraint."""
    text = read_text(getattr(options, form))
    line = text.removesuffix("\n")  # the last line's end is the file's, not the pattern's
    params = StructuredOutputsParams(
        json=text if form == "schema" else None,
        regex=line if form == "regex" else None,
        grammar=text if form == "grammar" else None,
        backend=options.engine,
    )
    instances = [] if options.instances is None else lines_of(read_text(options.instances))
    found = checker.check(params, instances)
    if options.json:
        print_json(as_object(found))
        return 0
    print_checked(found, instances, options.engine)
    return 0 if found.engine is not None and all(found.accepted) else 1


def run_batch(options: argparse.Namespace, checker: GrammarChecker) -> int:
    """Many schemas; results in their order, each as soon as it is there."""
    from kernelet.structured.constraint import DECIMALS

    entries = [read_entry(number, line) for number, line in enumerate(lines_of(read_text(options.batch)), start=1)]
    refused = 0

    def check(entry: tuple[Any, list[str]]) -> Checked:
        schema, instances = entry
        text = DECIMALS.encode(schema).decode()
        return checker.check(StructuredOutputsParams(json=text, backend=options.engine), instances)

    with ThreadPoolExecutor(AT_A_TIME) as threads:
        for number, found in enumerate(threads.map(check, entries), start=1):
            refused += found.engine is None or not all(found.accepted)
            if options.json:
                print_json(as_object(found))
            else:
                accepted = f"{sum(found.accepted)} of {len(found.accepted)} accepted"
                print(f"{number}: {found.engine}: {accepted}" if found.engine else f"{number}: refused: {why(found)}")
    return 0 if options.json or not refused else 1


@contextmanager
def checker(options: argparse.Namespace) -> Iterator[GrammarChecker]:
    """What looks at constraints, with its helpers."""
    from kernelet.contracts.structured import GrammarEngineOffer
    from kernelet.engine.bootstrap import boot_kernel, find_model, helper_plugins
    from kernelet.engine.sandbox.pool import Sandbox
    from kernelet.engine.structured.checker import GrammarChecker, tokenize_bytes, tokenizer_cut
    from kernelet.engine.structured.compiler import GrammarCompiler
    from kernelet.engine.structured.setup import make_structured, structured_config
    from kernelet.kernel.kinds import kind_of
    from kernelet.text.tokenizer import Tokenizer
    from kernelet.text.vocabulary import byte_vocabulary, token_vocabulary

    engine_options = resolved_options(options).options
    kernel = boot_kernel(engine_options)
    if options.engine != "auto":
        kernel.select(GrammarEngineOffer, options.engine)
    config = replace(structured_config(engine_options), backend=None, fallback="none")
    if options.tokenizer is None:
        vocabulary = byte_vocabulary()
        tokenize: Tokenize = tokenize_bytes
    else:
        tokenizer = Tokenizer.from_folder(find_model(options.tokenizer, kernel))
        vocabulary = token_vocabulary(tokenizer, len(tokenizer))
        tokenize = tokenizer_cut(tokenizer, vocabulary)
    sandbox = Sandbox(memory_bytes=config.compile_memory, plugins=partial(helper_plugins, kernel))
    compiler = GrammarCompiler(kernel, config, lambda: vocabulary, sandbox)
    structured = make_structured(config, kernel, None, kind_of(GrammarEngineOffer).how_to_get)
    made = GrammarChecker(structured, compiler, tokenize)
    try:
        yield made
    finally:
        made.close()


def lines_of(text: str) -> list[str]:
    """Lines without their ends; other characters that some take for line ends are part of them."""
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def read_entry(number: int, line: str) -> tuple[Any, list[str]]:
    """A line of a batch.

    Raises:
        ConfigError: it is something else.
    """
    from kernelet.request.values import exact_number
    from kernelet.structured.constraint import no_constant

    try:
        entry = json.loads(line, parse_float=exact_number, parse_constant=no_constant)
    except ValueError as error:
        raise ConfigError(f"--batch, line {number}: is no JSON: {error}") from error
    if not isinstance(entry, dict) or "schema" not in entry:
        raise ConfigError(f'--batch, line {number}: expected an object {{"schema": ..., "instances": [TEXT, ...]}}')
    instances = entry.get("instances", [])
    if not isinstance(instances, list) or not all(isinstance(one, str) for one in instances):
        raise ConfigError(f"--batch, line {number}: instances: expected a list of texts")
    return entry["schema"], instances


def as_object(found: Checked) -> dict[str, Any]:
    """A result as JSON."""
    if found.engine is not None:
        return {"engine": found.engine, "accepted": list(found.accepted)}
    return {"engine": None, "refused": list(found.reasons), "reasons": found.reasons}


def why(found: Checked) -> str:
    """Why a constraint is refused, in a line."""
    return "; ".join(f"{place}: {reason}" if place else reason for place, reason in found.reasons.items())


def print_checked(found: Checked, instances: Sequence[str], engine: str) -> None:
    """A result for people."""
    if found.wrong:
        print("refused: it is wrong, too large, or could not be tried")
    elif found.engine is None:
        nobody = "no grammar engine that is installed enforces" if engine == "auto" else f"{engine} does not enforce"
        print(f"refused: {nobody} all of it")
    if found.engine is None:
        print_table(("PLACE", "REASON"), [(place or "(all)", reason) for place, reason in found.reasons.items()])
        return
    print(f"enforced by {found.engine}")
    if instances:
        rows = [("yes" if ok else "no", text) for ok, text in zip(found.accepted, instances, strict=True)]
        print_table(("ACCEPTED", "TEXT"), rows)
