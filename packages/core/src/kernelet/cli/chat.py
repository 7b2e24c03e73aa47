"""``kernelet chat MODEL``: a conversation in the terminal, or over a pipe, one message a line."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernelet.cli.engine_options import MODEL_HELP, add_engine_options, resolved_options
from kernelet.cli.output import print_growing
from kernelet.cli.print_config import print_config
from kernelet.cli.sampling_options import add_sampling_options, sampling_params, with_room
from kernelet.errors import RequestError

if TYPE_CHECKING:
    import argparse

    from kernelet.engine.llm import LLM
    from kernelet.request.outputs import RequestOutput

DEFAULT_TOKENS = 1024
HELP = "/reset forgets the conversation, /exit leaves, Ctrl-C stops an answer."


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("--system", metavar="TEXT", help="the system message")
    add_sampling_options(parser)
    add_engine_options(parser)


def run(options: argparse.Namespace) -> int:
    """Loads the model and talks until the input ends."""
    resolved = resolved_options(options)
    if options.print_config:
        return print_config(options.model, resolved)
    from kernelet.engine.llm import LLM

    with LLM.from_options(options.model, resolved) as llm:
        return Conversation(llm, options).run()


class Conversation:
    """Messages so far, and the loop that adds to them."""

    def __init__(self, llm: LLM, options: argparse.Namespace) -> None:
        self._llm = llm
        self._options = options
        self._interactive = sys.stdin.isatty() and sys.stdout.isatty()
        self._start = [{"role": "system", "content": options.system}] if options.system else []
        self.messages = list(self._start)

    def run(self) -> int:
        """Returns 0 when the input ends or somebody leaves."""
        if self._interactive:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401  line editing and history of `input`
            print(HELP)
        while (line := self._read()) is not None:
            text = line.strip()
            if text == "/exit":
                break
            if text == "/reset":
                self.messages = list(self._start)
            elif text == "/help":
                print(HELP)
            elif text:
                self._answer(text)
        return 0

    def _read(self) -> str | None:
        """The next line; None at the end of the input."""
        try:
            return input("> " if self._interactive else "")
        except EOFError:
            return None
        except KeyboardInterrupt:
            if not self._interactive:
                raise
            print()
            return None

    def _answer(self, text: str) -> None:
        """One turn. A turn that fails is taken back; a pipe, where nobody can react, ends with the error."""
        self.messages.append({"role": "user", "content": text})
        answer = Answer()
        try:
            prompt = self._llm.chat_prompt(self.messages)
            params = sampling_params(self._options, max_tokens=None)
            if "max_tokens" not in vars(self._options):
                context = self._llm.config.model.max_model_len
                params = with_room(params, self._llm.count_tokens(prompt), context, DEFAULT_TOKENS)
            print_growing(answer.watch(self._llm.stream(prompt, params)))
        except KeyboardInterrupt:
            if not self._interactive:
                raise
            print(" (stopped)")
        except RequestError as error:
            self.messages.pop()
            if not self._interactive:
                raise
            print(f"error: {error} (/reset starts anew)", file=sys.stderr)
            return
        self.messages.append({"role": "assistant", "content": answer.text})


class Answer:
    """Remembers what was said, also of an answer that was stopped: without reasoning, where a parser takes it out."""

    def __init__(self) -> None:
        self.text = ""

    def watch(self, outputs: Iterator[RequestOutput]) -> Iterator[RequestOutput]:
        """The same outputs."""
        for output in outputs:
            message = output.outputs[0].message
            self.text = output.outputs[0].text if message is None else message.content
            yield output
