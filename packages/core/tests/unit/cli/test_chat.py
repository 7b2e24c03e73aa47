from __future__ import annotations

import argparse
import builtins
import io
import itertools
import sys

import pytest

from kernelet.cli.chat import Answer, Conversation, configure
from kernelet.request.message import ParsedMessage
from kernelet.request.outputs import CompletionOutput, RequestOutput

LETTERS = ["--allowed-token-ids", "97,98,99", "--max-tokens", "3"]


def test_a_piped_conversation_answers_each_line(kernelet, null_folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("hi\n\nthere\n/reset\nhi\n/exit\nnever\n"))
    code, out, err = kernelet("chat", null_folder, *LETTERS)
    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", 3)
    assert lines[0] == lines[2]  # after /reset the conversation is the same again
    assert all(set(line) <= set("abc") for line in lines)


def test_history_and_system_message_are_sent(kernelet, null_folder, monkeypatch):
    seen = []

    class Llm:
        config = argparse.Namespace(model=argparse.Namespace(max_model_len=100))

        def chat_prompt(self, messages):
            seen.append([(message["role"], message["content"]) for message in messages])
            return "prompt"

        def count_tokens(self, prompt):
            return 1

        def stream(self, prompt, params):
            yield answer("yes")

    parser = argparse.ArgumentParser()
    configure(parser)
    options = parser.parse_args(["model", "--system", "be kind"])
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\n"))
    conversation = Conversation(Llm(), options)
    assert conversation.run() == 0
    assert seen[1] == [("system", "be kind"), ("user", "one"), ("assistant", "yes"), ("user", "two")]


def answer(text):
    return RequestOutput(
        request_id="r",
        prompt=None,
        prompt_token_ids=[1],
        outputs=[CompletionOutput(index=0, text=text, token_ids=[])],
    )


def test_what_a_model_thought_is_not_sent_again():
    output = answer("<think>why</think>yes")
    remembered = Answer()
    assert list(remembered.watch(iter([output]))) == [output]
    assert remembered.text == "<think>why</think>yes"
    output.outputs[0].message = ParsedMessage(reasoning="why", content="yes")
    assert list(remembered.watch(iter([output]))) == [output]
    assert remembered.text == "yes"


def test_an_error_ends_a_piped_conversation(kernelet, null_folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("x" * 300 + "\nhi\n"))
    code, out, err = kernelet("chat", null_folder, *LETTERS)
    assert (code, out) == (1, "")
    assert err.startswith("error: the prompt has 30")


@pytest.fixture
def terminal(monkeypatch):
    """Lines that somebody types; an exception is what their key press raises."""

    def install(lines):
        typed = iter(lines)

        def read(prompt=""):
            line = next(typed, EOFError())
            if isinstance(line, BaseException):
                raise line
            return line

        monkeypatch.setattr(builtins, "input", read)
        for stream in (sys.stdin, sys.stdout):
            monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)

    return install


def test_in_a_terminal_an_error_is_shown_and_the_turn_taken_back(kernelet, null_folder, terminal):
    terminal(["/help", "x" * 300, "hi"])
    code, out, err = kernelet("chat", null_folder, *LETTERS)
    assert code == 0
    assert err.startswith("error: the prompt has 30")
    assert out.count("/exit leaves") == 2
    assert set(out.splitlines()[-1]) <= set("abc")


def test_ctrl_c_stops_an_answer_and_keeps_what_was_said(terminal):
    class Llm:
        config = argparse.Namespace(model=argparse.Namespace(max_model_len=100))

        def chat_prompt(self, messages):
            return "prompt"

        def stream(self, prompt, params):
            yield answer("so f")
            raise KeyboardInterrupt

    parser = argparse.ArgumentParser()
    configure(parser)
    terminal(["hi", KeyboardInterrupt()])
    conversation = Conversation(Llm(), parser.parse_args(["model", "--max-tokens", "5"]))
    assert conversation.run() == 0
    assert conversation.messages[-1] == {"role": "assistant", "content": "so f"}


def test_an_answer_is_remembered_while_it_grows():
    watching = Answer()
    outputs = watching.watch(itertools.chain([answer("a"), answer("ab")]))
    next(outputs)
    assert watching.text == "a"
    list(outputs)
    assert watching.text == "ab"
