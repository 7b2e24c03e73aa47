"""vLLM's parsers over answers that are cut; runs in an environment with vLLM, reads and writes JSON.

The tokenizer has a token for each byte and one for each marker, so that every place in the text can be cut.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuts import make_cuts
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser import ParserManager


def tokenizer_of(tokens: Sequence[str]) -> Any:
    """One token a byte, one a marker."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={character: number for number, character in enumerate(alphabet)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_tokens([AddedToken(token, normalized=False) for token in tokens])
    return PreTrainedTokenizerFast(tokenizer_object=inner)


def pieces_of(tokenizer: Any, text: str) -> list[tuple[str, list[int]]]:
    """The text by tokens; bytes of one character are one piece, as a detokenizer holds them back."""
    pieces: list[tuple[str, list[int]]] = []
    held: list[int] = []
    for token in tokenizer.encode(text, add_special_tokens=False):
        held.append(token)
        shown = tokenizer.decode(held, skip_special_tokens=False)
        if "\ufffd" not in shown:
            pieces.append((shown, held))
            held = []
    assert "".join(piece for piece, _ in pieces) == text
    return pieces


class Side:
    """One family's parser."""

    def __init__(self, case: dict[str, Any], tools: list[dict[str, Any]]) -> None:
        reasoning, tool = case["theirs"]
        self.tokenizer = tokenizer_of([*case["tokens"], *case["pieces"]])
        made = ParserManager.get_parser(
            tool_parser_name=tool or None,
            reasoning_parser_name=reasoning or None,
            enable_auto_tools=bool(tool),
            model_name="model",
            tokenizer=self.tokenizer,
        )
        assert made is not None
        self.parser = made
        self.request = ChatCompletionRequest(
            model="model",
            messages=[{"role": "user", "content": "Hi"}],
            tools=[{"type": "function", "function": one} for one in tools],
            tool_choice="auto",
            stream=True,
        )
        self.prompt = self.tokenizer.encode("user: Hi\nassistant: ", add_special_tokens=False)

    def new(self) -> Any:
        return self.parser(self.tokenizer, self.request.tools)

    def whole(self, text: str) -> dict[str, Any]:
        """All at once, as an answer that is not streamed."""
        ids = self.tokenizer.encode(text, add_special_tokens=False)
        reasoning, content, calls = self.new().parse(text, self.request, True, ids)
        found = [[call.name, call.arguments] for call in calls or []]
        return {"reasoning": reasoning or "", "content": content or "", "calls": found}

    def streamed(self, pieces: list[tuple[str, list[int]]], ends: list[int]) -> dict[str, Any]:
        """In deltas."""
        parser = self.new()
        parts: dict[str, list[str]] = {"reasoning": [], "content": []}
        calls: dict[int, list[str]] = {}
        start = 0
        for end in ends:
            text = "".join(piece for piece, _ in pieces[start:end])
            ids = [token for _, tokens in pieces[start:end] for token in tokens]
            delta = parser.parse_delta(text, ids, self.request, self.prompt, finished=end == len(pieces))
            start = end
            if delta is None:
                continue
            parts["reasoning"].append(delta.reasoning or "")
            parts["content"].append(delta.content or "")
            for call in delta.tool_calls or []:
                mine = calls.setdefault(call.index, ["", ""])
                if call.function is not None:
                    mine[0] += call.function.name or ""
                    mine[1] += call.function.arguments or ""
        joined = {name: "".join(texts) for name, texts in parts.items()}
        return {**joined, "calls": [calls[index] for index in sorted(calls)]}


def attempt(run: Any, *args: Any) -> dict[str, Any]:
    """What was parsed, or what was raised."""
    try:
        found: dict[str, Any] = run(*args)
    except Exception as error:  # noqa: BLE001 - what it raises is the result
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    return found


def main() -> None:
    """Arguments: file of cases, file of results."""
    cases = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    results: dict[str, Any] = {}
    for case in cases["families"]:
        begun = time.process_time()
        try:
            side = Side(case, cases["tools"])
        except Exception as error:  # noqa: BLE001 - what it raises is the result
            results[case["name"]] = {"error": f"{type(error).__name__}: {error}"[:300]}
            continue
        rows = []
        for answer in case["answers"]:
            pieces = pieces_of(side.tokenizer, answer["text"])
            row = {"whole": attempt(side.whole, answer["text"])}
            cuts = make_cuts(len(pieces), cases["num_cuts"])
            row["cuts"] = [attempt(side.streamed, pieces, ends) for ends in cuts]
            rows.append(row)
        results[case["name"]] = {"rows": rows, "seconds": time.process_time() - begun}
    Path(sys.argv[2]).write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main()
