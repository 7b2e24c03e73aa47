"""``kernelet beam-search MODEL``: likely completions of prompts."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from acme_beam_search.params import BeamSearchParams

if TYPE_CHECKING:
    import argparse

    from acme_beam_search.generate import BeamSearchOutput


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.description = "Completes prompts by beam search. Options of the engine: the variables KERNELET_<OPTION>."
    parser.add_argument("model", metavar="MODEL", help="as for `kernelet run`")
    parser.add_argument("--prompt", action="append", required=True, metavar="TEXT", help="may be given several times")
    parser.add_argument("--beam-width", type=int, default=4, metavar="N", help="default: %(default)s")
    parser.add_argument("--max-tokens", type=int, default=64, metavar="N", help="default: %(default)s")
    parser.add_argument("--length-penalty", type=float, default=1.0, metavar="X", help="default: %(default)s")
    parser.add_argument("--early-stopping", choices=["false", "true", "never"], default="false")
    parser.add_argument("--ignore-eos", action="store_true", help="the end-of-sequence token ends nothing")
    parser.add_argument("--json", action="store_true", help="an object a prompt, with all sequences")


def run(options: argparse.Namespace) -> int:
    """Loads the model, searches, prints."""
    params = BeamSearchParams(
        beam_width=options.beam_width,
        max_tokens=options.max_tokens,
        length_penalty=options.length_penalty,
        early_stopping="never" if options.early_stopping == "never" else options.early_stopping == "true",
        ignore_eos=options.ignore_eos,
    )
    from acme_beam_search.generate import POLICY, beam_search
    from kernelet import LLM

    with LLM(options.model, scheduling_policy=POLICY) as llm:
        for prompt, found in zip(options.prompt, beam_search(llm, options.prompt, params), strict=True):
            sys.stdout.write(shown(prompt, found, as_json=options.json))
    return 0


def shown(prompt: str, found: BeamSearchOutput, *, as_json: bool) -> str:
    """All sequences of a prompt as JSON, or a line each: score and text."""
    if as_json:
        return json.dumps({"prompt": prompt} | asdict(found), ensure_ascii=False) + "\n"
    return "".join(f"{entry.score:9.4f}  {prompt}{entry.text!r}\n" for entry in found.sequences)
