"""``kernelet detect-watermark``: whether a text was generated with the watermark."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acme_watermark.plugin import kernelet_options
from acme_watermark.scheme import Detection, Scheme, detect
from kernelet.errors import ConfigError, ModelNotFoundError

if TYPE_CHECKING:
    import argparse

THRESHOLD = 4.0
"""The paper's: one text in thirty thousand is accused falsely."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    scheme = Scheme(key=0, vocab_size=2)
    parser.add_argument("model", type=Path, metavar="FOLDER", help="folder of the model (kernelet model path NAME)")
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="the text, in UTF-8; default: stdin")
    parser.add_argument("--jsonl", action="store_true", help="FILE is what `kernelet run --json` wrote, a text a line")
    key = kernelet_options().schema["key"].default
    parser.add_argument(
        "--key", type=int, default=key, metavar="N", help="as the plugin's option; default: %(default)s"
    )
    parser.add_argument("--gamma", type=float, default=scheme.gamma, metavar="X", help="default: %(default)s")
    parser.add_argument("--context", type=int, default=scheme.context, metavar="N", help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="a JSON object a text")


def run(options: argparse.Namespace) -> int:
    """Prints what the test finds."""
    if not 0 < options.gamma < 1 or options.context < 1:
        raise ConfigError("--gamma must be between 0 and 1, and --context at least 1: give them as they were generated")
    config = read_config(options.model)
    scheme = Scheme(key=options.key, vocab_size=config["vocab_size"], gamma=options.gamma, context=options.context)
    text = options.file.read_text(encoding="utf-8") if options.file else sys.stdin.read()
    for tokens in from_lines(text, scheme.context) if options.jsonl else [encode(options.model, text)]:
        try:
            found = detect(tokens, scheme)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        sys.stdout.write(line(found, as_json=options.json))
    return 0


def line(found: Detection, *, as_json: bool) -> str:
    """One line about a text."""
    marked = found.z > THRESHOLD
    if as_json:
        return json.dumps({"watermarked": marked} | asdict(found)) + "\n"
    verdict = "watermarked" if marked else "no watermark found"
    counts = f"{found.num_green} of {found.num_scored} tokens are green"
    return f"{verdict}: {counts}, z = {found.z:.2f}, p = {found.p:.2g}\n"


def read_config(folder: Path) -> dict[str, Any]:
    """config.json, whose ``vocab_size`` is that of the logits.

    Raises:
        ModelNotFoundError: it cannot be read or states no size.
    """
    path = folder / "config.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(f"{path} cannot be read ({error}): name the folder of the model") from error
    if not isinstance(found, dict) or not isinstance(found.get("vocab_size"), int):
        raise ModelNotFoundError(f"{path} states no vocab_size: name the folder of the model")
    return found


def encode(folder: Path, text: str) -> list[int]:
    """Token ids of a text; a few differ from the generated ones where the text can be cut in two ways.

    Raises:
        ModelNotFoundError: the folder has no tokenizer.
    """
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelNotFoundError(f"{path} is missing: use --jsonl, which needs no tokenizer")
    tokens: list[int] = Tokenizer.from_file(str(path)).encode(text, add_special_tokens=False).ids
    return tokens


def from_lines(text: str, context: int) -> list[list[int]]:
    """Generated tokens of each line, after the end of their prompt, which seeds the first list.

    Raises:
        ConfigError: a line is not what `kernelet run --json` writes.
    """
    found = []
    for number, entry in enumerate(text.splitlines(), 1):
        try:
            answer = json.loads(entry)
            found.append([*answer["prompt_token_ids"][-context:], *answer["token_ids"]])
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"line {number} is no line of `kernelet run --json`: {error!r}") from error
    return found
