"""What is asked: random tokens, random words, or the lines of a file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import msgspec

from kernelet.cli.usage import UsageError

WORDS = (
    "time year people way day man thing woman life child world school state family student group country problem hand "
    "part place case week company system program question work government number night point home water room mother "
    "area money story fact month lot right study book eye job word business issue side kind head house service friend "
    "father power hour game line end member law car city community name president team minute idea body information"
)


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One request: a prompt or messages, and how many tokens may come."""

    prompt: str | list[int] | None = None
    messages: list[dict[str, Any]] | None = None
    output_len: int

    def body(self, *, chat: bool) -> dict[str, Any]:
        """The fields that say so, for the endpoint.

        Raises:
            UsageError: messages for completions, token ids for a chat.
        """
        if not chat:
            if self.prompt is None:
                raise UsageError("the dataset has messages: use --endpoint chat")
            return {"prompt": self.prompt, "max_tokens": self.output_len}
        if isinstance(self.prompt, list):
            raise UsageError("token ids are no chat: leave out --vocab-size or use --endpoint completions")
        messages = self.messages or [{"role": "user", "content": self.prompt}]
        return {"messages": messages, "max_tokens": self.output_len}


def random_ids(count: int, vocab: int, input_len: int, output_len: int, seed: int) -> list[Ask]:
    """Prompts of ids below ``vocab``, so that no prefix is shared."""
    generator = random.Random(seed)
    return [
        Ask(prompt=[generator.randrange(vocab) for _ in range(input_len)], output_len=output_len) for _ in range(count)
    ]


def random_words(count: int, input_len: int, output_len: int, seed: int) -> list[Ask]:
    """Prompts of ``input_len`` words, for any server; a word is a token or two."""
    generator, words = random.Random(seed), WORDS.split()
    return [Ask(prompt=" ".join(generator.choices(words, k=input_len)), output_len=output_len) for _ in range(count)]


class _Line(msgspec.Struct, forbid_unknown_fields=False):
    prompt: str | list[int] | None = None
    messages: list[dict[str, Any]] | None = None
    output_tokens: int | None = None


def from_file(path: Path, count: int | None, output_len: int) -> list[Ask]:
    """A JSON object a line: ``prompt`` (text or ids) or ``messages``, and ``output_tokens`` where it differs.

    Args:
        path: The file.
        count: None: every line once; more than it has lines: again from the start.
        output_len: Where a line does not say it.

    Raises:
        UsageError: the file cannot be read, is empty or has a line that says nothing.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--dataset-path {path}: {error}") from error
    asks = list(_asks(path, text, output_len))
    if not asks:
        raise UsageError(f"--dataset-path {path}: it has no line")
    return asks if count is None else list(islice(cycle(asks), count))


def _asks(path: Path, text: str, output_len: int) -> Iterator[Ask]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found = msgspec.json.decode(line, type=_Line)
        except msgspec.DecodeError as error:
            raise UsageError(f"--dataset-path {path}, line {number}: {error}") from error
        if (found.prompt is None) == (found.messages is None):
            raise UsageError(f"--dataset-path {path}, line {number}: expected `prompt` or `messages`")
        tokens = output_len if found.output_tokens is None else found.output_tokens
        yield Ask(prompt=found.prompt, messages=found.messages, output_len=tokens)
