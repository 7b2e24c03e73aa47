"""What each grammar engine takes for a schema and for a mask, beside its library alone.

Answers of ``cases.py`` are read token by token: the mask is filled, then the token is accepted. The first time that a
grammar is used counts by itself, since some engines remember masks. A ratio is our time over the library's for the same
answer: 1 is as fast. Milliseconds but where it says us, of processors and not of the clock; the best of some rounds.

python benchmarks/structured/masks.py [--model smollm2-135m] [--engines xgrammar guidance outlines lmfe] [--rounds 5]
                                      [--cases person ...] [--no-peers] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from cases import CASES, Case
from peers import PEERS, Peer

from kernelet.contracts.structured import GrammarEngine, GrammarEngineOffer, GrammarRules, TokenVocabulary
from kernelet.engine.bootstrap import boot_kernel, find_model
from kernelet.engine.options import EngineOptions
from kernelet.structured.schema.lower import lower_schema
from kernelet.structured.schema.options import JsonOptions
from kernelet.testing.offered import find_offer
from kernelet.text.tokenizer import Tokenizer
from kernelet.text.vocabulary import token_vocabulary

T = TypeVar("T")


class Model(NamedTuple):
    """What engines need of one."""

    folder: Path
    tokenizer: Tokenizer
    vocabulary: TokenVocabulary


@dataclass
class Times:
    """Of one case.

    Attributes:
        compile: Until a grammar is there to be loaded or started, ms.
        load: Until answers can be started, ms.
        first: Median of the masks of a grammar's first answer, us.
        first_worst: The longest of them, us.
        first_all: All of them together, ms.
        fill: Median of the masks of later answers, us.
        fill_p99: Of which one in a hundred is longer, us.
        accept: Median, us.
        num_bytes: What a loaded grammar takes.
    """

    case: str
    tokens: int
    compile: float
    load: float
    first: float
    first_worst: float
    first_all: float
    fill: float
    fill_p99: float
    accept: float
    num_bytes: int = 0


class Read(NamedTuple):
    """Seconds of an answer's masks and of its tokens."""

    fills: list[float]
    accepts: list[float]


def load_model(name: str) -> Model:
    folder = find_model(name, boot_kernel(EngineOptions()))
    tokenizer = Tokenizer.from_folder(folder)
    return Model(folder, tokenizer, token_vocabulary(tokenizer, len(tokenizer)))


def timed(function: Callable[[], T]) -> tuple[T, float]:
    """A result, and the seconds of processors that it took."""
    started = time.process_time()
    result = function()
    return result, time.process_time() - started


def best(function: Callable[[], T]) -> tuple[T, float]:
    """The best of three, or of fewer where one takes long."""
    found = [timed(function)]
    while len(found) < 3 and sum(seconds for _, seconds in found) < 1:
        found.append(timed(function))
    return min(found, key=lambda one: one[1])


def read(tokens: Iterable[int], fill: Callable[[], object], accept: Callable[[int], bool]) -> Read:
    """Reads an answer."""
    found = Read([], [])
    for token in tokens:
        _, seconds = timed(fill)
        found.fills.append(seconds)
        accepted, seconds = timed(lambda token=token: accept(token))
        assert accepted, f"token {token} is refused"
        found.accepts.append(seconds)
    return found


def summary(case: Case, compiled: float, loaded: float, reads: Sequence[Read], num_bytes: int = 0) -> Times:
    first, later = reads[0], [min(times) for times in zip(*(one.fills for one in reads[1:]), strict=True)]
    accepts = [min(times) for times in zip(*(one.accepts for one in reads), strict=True)]
    return Times(
        case=case.name,
        tokens=len(first.fills),
        compile=1e3 * compiled,
        load=1e3 * loaded,
        first=1e6 * statistics.median(first.fills),
        first_worst=1e6 * max(first.fills),
        first_all=1e3 * sum(first.fills),
        fill=1e6 * statistics.median(later),
        fill_p99=1e6 * float(np.percentile(later, 99)),
        accept=1e6 * statistics.median(accepts),
        num_bytes=num_bytes,
    )


def measure(engine: GrammarEngine, rules: GrammarRules, case: Case, tokens: Sequence[int], rounds: int) -> Times:
    """One of our engines."""
    compiled, seconds = best(lambda: engine.compile(rules))
    grammar, loaded = best(lambda: engine.load(compiled))
    row = np.zeros(engine.vocabulary.num_words, np.int32)
    reads = []
    for _ in range(1 + rounds):
        answer = grammar.start()
        reads.append(read(tokens, lambda: answer.fill_mask(row), lambda token: answer.accept((token,))))  # noqa: B023
        assert answer.can_end(), f"{case.name} is not at its end"
    return summary(case, seconds, loaded, reads, grammar.num_bytes)


def measure_peer(peer: Peer, case: Case, tokens: Sequence[int], rounds: int) -> Times:
    """A library alone."""
    compiled, seconds = best(lambda: peer.compile(case.schema))
    reads = []
    for _ in range(1 + rounds):
        answer = peer.start(compiled)
        reads.append(read(tokens, lambda: peer.fill(answer), lambda token: peer.accept(answer, token)))  # noqa: B023
    return summary(case, seconds, 0, reads)


def make_engine(name: str, vocabulary: TokenVocabulary) -> GrammarEngine:
    offered = find_offer(f"kernelet_structured_{name}.plugin", GrammarEngineOffer, name)
    engine: GrammarEngine = offered.target(offered.settings, vocabulary)
    return engine


def table(name: str, ours: Sequence[Times], theirs: Sequence[Times]) -> list[str]:
    """Rows of the table, one a case."""
    rows = []
    for place, one in enumerate(ours):
        peer = theirs[place] if theirs else None
        ratios = ["", "", ""]
        if peer is not None:
            pairs = ((one.compile, peer.compile), (one.first_all, peer.first_all), (one.fill, peer.fill))
            ratios = [f"{mine / other:.2f}" for mine, other in pairs]
        cells = [
            name,
            one.case,
            f"{one.compile:.1f}",
            f"{one.load:.2f}",
            f"{one.first:.1f} / {one.first_worst:.0f}",
            f"{one.fill:.1f} / {one.fill_p99:.1f}",
            f"{one.accept:.1f}",
            f"{one.num_bytes / 1e6:.1f}",
            *ratios,
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


HEAD = (
    "| engine | answer | compile | load | first masks, us: median / worst | masks, us: median / p99 | accept, us | MB "
    "| ratios: compile | first masks | mask |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--engines", nargs="+", default=list(PEERS), choices=PEERS)
    parser.add_argument("--cases", nargs="+", default=[case.name for case in CASES])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    model = load_model(options.model)
    cases = [case for case in CASES if case.name in options.cases]
    found: dict[str, Any] = {}
    rows: list[str] = []
    for name in options.engines:
        engine, setup = timed(lambda name=name: make_engine(name, model.vocabulary))
        ours, theirs = [], []
        peer = None if options.no_peers else PEERS[name](model.vocabulary, model.folder)
        for case in cases:
            rules, lowered = timed(lambda case=case: lower_schema(case.schema, JsonOptions()))
            tokens = model.tokenizer.encode(case.text, add_special_tokens=False)
            ours.append(measure(engine, rules, case, tokens, options.rounds))
            if peer is not None:
                theirs.append(measure_peer(peer, case, tokens, options.rounds))
            found.setdefault("lowering, ms", {})[case.name] = 1e3 * lowered
        found[name] = {
            "setup, ms": 1e3 * setup,
            "ours": [asdict(one) for one in ours],
            "library": [asdict(one) for one in theirs],
        }
        rows += table(name, ours, theirs)
    print(json.dumps(found, indent=1) if options.json else "\n".join([HEAD, *rows]))


if __name__ == "__main__":
    main()
