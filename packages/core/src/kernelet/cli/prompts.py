"""Prompts from flags, files and pipes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelet.cli.usage import UsageError
from kernelet.errors import PromptError

if TYPE_CHECKING:
    import argparse


def add_prompt_options(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that say what to complete."""
    parser.add_argument("--prompt", action="append", default=[], metavar="TEXT", help="a prompt; may be given again")
    parser.add_argument(
        "--prompt-file",
        metavar="FILE",
        help="one prompt a line; in a .jsonl file JSON, also objects with prompt or prompt_token_ids; -: stdin",
    )
    parser.add_argument("--chat", action="store_true", help="send each prompt as a user's message of a conversation")


def read_prompts(options: argparse.Namespace) -> list[Any]:
    """All prompts, those of flags first.

    Raises:
        UsageError: there is none.
        PromptError: the file cannot be read.
    """
    prompts: list[Any] = list(options.prompt)
    if options.prompt_file is not None:
        prompts += read_file(options.prompt_file)
    elif not prompts and not sys.stdin.isatty():
        prompts = [text] if (text := sys.stdin.read()) else []
    if not prompts:
        raise UsageError("there is no prompt: give --prompt TEXT, --prompt-file FILE, or pipe one in")
    return prompts


def read_file(name: str) -> list[Any]:
    """The prompts of a file; empty lines are none.

    Raises:
        PromptError: the file cannot be read, or a line of a .jsonl file is no JSON.
    """
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"--prompt-file {name} cannot be read ({error})") from error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not name.endswith(".jsonl"):
        return [line.removesuffix("\r") for _, line in lines]
    return [read_json_line(name, number, line) for number, line in lines]


def read_json_line(name: str, number: int, line: str) -> Any:
    """A line of a .jsonl file."""
    try:
        return json.loads(line)
    except ValueError as error:
        raise PromptError(f"--prompt-file {name}, line {number} is no JSON ({error})") from error
