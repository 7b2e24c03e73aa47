"""The flags of the sampling parameters. Values are checked where requests are, so that the messages are the same."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelet.contracts.sampling import SamplingParams

FIELDS = (
    "n",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "seed",
    "max_tokens",
    "min_tokens",
    "stop",
    "stop_token_ids",
    "ignore_eos",
    "bad_words",
    "logit_bias",
    "allowed_token_ids",
    "logprobs",
    "prompt_logprobs",
    "skip_special_tokens",
    "spaces_between_special_tokens",
    "include_stop_str_in_output",
    "detokenize",
    "structured_outputs",
    "extra_args",
)


def add_sampling_options(parser: argparse.ArgumentParser) -> None:
    """Adds a flag for every field of ``SamplingParams``."""
    group = parser.add_argument_group("sampling")

    def add(flag: str, **arguments: Any) -> None:
        name = flag.removeprefix("--").replace("-", "_")
        group.add_argument(flag, dest=name, default=argparse.SUPPRESS, **arguments)

    add(
        "--max-tokens",
        type=int,
        metavar="N",
        help="tokens to generate at most (default: 256, within the context)",
    )
    add("--temperature", type=float, metavar="X", help="0 takes the most likely token (default: 0)")
    add("--top-p", type=float, metavar="X", help="smallest set of tokens whose probability reaches X")
    add("--top-k", type=int, metavar="N", help="the N most likely tokens only; 0: all")
    add("--min-p", type=float, metavar="X", help="drop tokens less likely than X times the most likely one")
    add("--presence-penalty", type=float, metavar="X", help="lower tokens that occurred in the output")
    add("--frequency-penalty", type=float, metavar="X", help="the same, by their number")
    add("--repetition-penalty", type=float, metavar="X", help="lower tokens that occurred anywhere; 1: not at all")
    add("--seed", type=int, metavar="N", help="same seed, same text")
    add("--n", type=int, metavar="N", help="answers to each prompt")
    add("--min-tokens", type=int, metavar="N", help="do not stop before so many tokens")
    add("--stop", action="append", metavar="TEXT", help="end at this text (may be given several times)")
    add("--stop-token-ids", type=integers, metavar="ID,...", help="end at one of these tokens")
    add("--ignore-eos", action="store_true", help="the end-of-sequence token does not stop")
    add("--bad-words", action="append", metavar="TEXT", help="never generate this (may be given several times)")
    add("--logit-bias", type=biases, metavar="ID=X,...", help="add X to the logit of a token")
    add("--allowed-token-ids", type=integers, metavar="ID,...", help="choose among these tokens only")
    add("--logprobs", type=int, metavar="N", help="log-probabilities of the N best tokens (with --json); -1: all")
    add("--prompt-logprobs", type=int, metavar="N", help="the same for the prompt's tokens")
    for flag, text in (
        ("--skip-special-tokens", "special tokens are no part of the text"),
        ("--spaces-between-special-tokens", "a space between those that are"),
        ("--detokenize", "make text of the tokens"),
    ):
        add(flag, action=argparse.BooleanOptionalAction, help=text)
    add("--include-stop-str-in-output", action="store_true", help="the text keeps its stop string")
    add(
        "--structured-outputs",
        type=constraint,
        metavar="JSON",
        help='what the text must look like: {"json": SCHEMA}, {"regex": TEXT}, {"choice": [TEXT, ...]}, ...',
    )
    add("--extra-args", type=json_object, metavar="JSON", help="arguments of plugins: {plugin: {name: value}}")


def sampling_params(options: argparse.Namespace, **defaults: Any) -> SamplingParams:
    """The parameters that were given, over defaults; greedy unless told otherwise."""
    from kernelet.contracts.sampling import SamplingParams

    given: dict[str, Any] = {name: value for name, value in vars(options).items() if name in FIELDS}
    return SamplingParams(**({"temperature": 0.0} | defaults | given))


def integers(text: str) -> list[int]:
    """``1,2,3``."""
    return [int(part) for part in text.split(",") if part.strip()]


def biases(text: str) -> dict[int, float]:
    """``5=-1.5,7=2``."""
    pairs = (part.split("=") for part in text.split(",") if part.strip())
    return {int(key): float(value) for key, value in pairs}


def constraint(text: str) -> Any:
    """A JSON object whose numbers keep their digits."""
    from kernelet.request.values import exact_number

    return json_object(text, exact_number)


def json_object(text: str, number: Callable[[str], Any] = float) -> Any:
    """A JSON object."""
    try:
        return json.loads(text, parse_float=number)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"is no JSON ({error})") from error


def with_room(params: SamplingParams, prompt_len: int, context: int, default: int) -> SamplingParams:
    """``params`` with ``default`` tokens to generate at most, or as many as the context leaves."""
    import msgspec

    wanted = max(default, params.min_tokens)
    return msgspec.structs.replace(params, max_tokens=min(wanted, max(0, context - prompt_len)) or None)
