"""``kernelet bench serve``: load on a server that speaks OpenAI's API, at a rate or a concurrency."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kernelet.cli.output import print_json, print_table
from kernelet.cli.serve_load.prompts import Ask, from_file, random_ids, random_words
from kernelet.cli.usage import UsageError
from kernelet.config import env
from kernelet.engine.progress import Progress, progress_bar
from kernelet.errors import KerneletError

if TYPE_CHECKING:
    import argparse

    from kernelet.cli.serve_load.client import LoadClient
    from kernelet.cli.serve_load.drive import Run

PATHS = {"completions": "/v1/completions", "chat": "/v1/chat/completions"}
NUM_PROMPTS = 100
BUSY = 0.9
"""From this share of a core on the client itself may be what is slow."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds its arguments, named as vLLM's where they mean the same."""
    server = parser.add_argument_group("server")
    server.add_argument("--base-url", metavar="URL", help="http://host:port; instead of --host and --port")
    server.add_argument("--host", default="127.0.0.1", help="(default: %(default)s)")
    server.add_argument("--port", type=int, default=8000, help="(default: %(default)s)")
    server.add_argument("--endpoint", default="completions", metavar="NAME", help="completions, chat, or a path")
    server.add_argument("--model", metavar="NAME", help="as the server calls it (default: the first of /v1/models)")
    server.add_argument("--api-key", metavar="KEY", help="default: KERNELET_API_KEY")
    asked = parser.add_argument_group("requests")
    asked.add_argument("--num-prompts", type=int, metavar="N", help=f"requests (default: {NUM_PROMPTS}, or all lines)")
    asked.add_argument("--input-len", type=int, default=128, metavar="N", help="words or ids (default: %(default)s)")
    asked.add_argument("--output-len", type=int, default=128, metavar="N", help="tokens at most (default: %(default)s)")
    asked.add_argument("--vocab-size", type=int, metavar="N", help="prompts are random ids below N, not words")
    asked.add_argument(
        "--dataset-path", metavar="FILE", help="JSON lines with `prompt` or `messages`, and `output_tokens`"
    )
    asked.add_argument("--ignore-eos", action="store_true", help="answers of full length, where the server can do it")
    asked.add_argument("--temperature", type=float, default=0.0, metavar="T", help="(default: greedy)")
    asked.add_argument("--extra-body", type=json_object, default={}, metavar="JSON", help="more fields of each request")
    asked.add_argument("--seed", type=int, default=0, metavar="N", help="of prompts and arrivals (default: 0)")
    pace = parser.add_argument_group("pace")
    pace.add_argument(
        "--request-rate", type=float, default=math.inf, metavar="R", help="requests a second (default: all at once)"
    )
    pace.add_argument(
        "--burstiness", type=float, default=1.0, metavar="B", help="1: Poisson arrivals; less: bursts; more: even"
    )
    pace.add_argument("--max-concurrency", type=int, metavar="N", help="requests at a time (default: no limit)")
    pace.add_argument("--num-warmups", type=int, default=1, metavar="N", help="first, not measured (default: 1)")
    pace.add_argument("--timeout", type=float, metavar="S", help="seconds for one request (default: no limit)")
    shown = parser.add_argument_group("figures")
    shown.add_argument("--goodput", nargs="+", default=[], metavar="NAME:MS", help="goals of ttft, tpot, e2el")
    shown.add_argument("--metric-percentiles", default="50,90,95,99", metavar="LIST", help="(default: %(default)s)")
    shown.add_argument("--json", action="store_true", help="one object")
    shown.add_argument("--save", metavar="FILE", help="figures and every request as JSON")
    shown.add_argument("--chart", metavar="FILE", help="a PNG")


def json_object(text: str) -> dict[str, Any]:
    """A flag's value that must be an object."""
    return msgspec.json.decode(text, type=dict[str, Any])


def run(options: argparse.Namespace) -> int:
    """Sends, measures and prints; 1 if no request was answered."""
    check(options)
    from kernelet.cli.serve_load import chart, report

    goals, percentiles = report.parse_goodput(options.goodput), parse_percentiles(options.metric_percentiles)
    if options.chart:
        chart.figures_library()
    model, done = asyncio.run(measure(options, *asks(options)))
    settings = {
        "model": model,
        "base_url": base_url(options),
        "endpoint": endpoint_path(options.endpoint),
        "num_prompts": len(done.answers),
        "request_rate": options.request_rate if math.isfinite(options.request_rate) else "inf",
        "burstiness": options.burstiness,
        "max_concurrency": options.max_concurrency,
        "seed": options.seed,
    }
    figures = report.summary(done, goals, percentiles)
    if options.save:
        Path(options.save).write_bytes(msgspec.json.encode(settings | figures | report.details(done)))
    if options.chart:
        rate = f"{options.request_rate:g} requests a second, at most {options.max_concurrency or 'any'} at a time"
        chart.draw(done, f"{model}, {len(done.answers)} requests, {rate}", Path(options.chart))
    show(settings | figures if options.json else figures, percentiles, as_json=options.json)
    return 0 if figures["completed"] else 1


def show(figures: dict[str, Any], percentiles: Sequence[float], *, as_json: bool) -> None:
    """The figures, as JSON or a table with errors and warnings below."""
    from kernelet.cli.serve_load import report

    if as_json:
        print_json(figures)
        return
    print_table(("FIGURE", "VALUE"), report.rows(figures))
    print_table(
        ("MILLISECONDS", "MEAN", *(f"P{percent:g}" for percent in percentiles)), report.spreads(figures, percentiles)
    )
    if figures["errors"]:
        print_table(("ERROR", "REQUESTS"), [(kind, str(count)) for kind, count in figures["errors"].items()])
    if figures["client_cpu_share"] > BUSY:
        print("this client was busy all the time: the server may be faster than these figures say")


def check(options: argparse.Namespace) -> None:
    """Refuses what cannot be meant.

    Raises:
        UsageError: a number is out of range.
    """
    counts = ("num_prompts", "input_len", "output_len", "vocab_size", "max_concurrency")
    wrong = [(name, 1) for name in counts if getattr(options, name) is not None and getattr(options, name) < 1]
    for name, least in wrong + [("num_warmups", 0)] * (options.num_warmups < 0):
        raise UsageError(f"--{name.replace('_', '-')} {getattr(options, name)}: expected at least {least}")
    for name in ("request_rate", "burstiness", "timeout"):
        value = getattr(options, name)
        if value is not None and not value > 0:
            raise UsageError(f"--{name.replace('_', '-')} {value}: expected more than 0")
    if options.vocab_size is not None and options.dataset_path is not None:
        raise UsageError("--vocab-size is for random prompts: leave out --dataset-path")


def parse_percentiles(text: str) -> list[float]:
    """Numbers between 0 and 100.

    Raises:
        UsageError: they are not.
    """
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = [-1.0]
    if not all(0 <= one <= 100 for one in found):
        raise UsageError(f"--metric-percentiles {text}: expected numbers from 0 to 100 with commas between them")
    return found


def asks(options: argparse.Namespace) -> tuple[list[Ask], list[Ask]]:
    """What is asked, in order; and before that, not measured: random prompts of their own, or a file's first lines."""
    count, before = options.num_prompts or NUM_PROMPTS, options.num_warmups
    sizes = {"input_len": options.input_len, "output_len": options.output_len, "seed": options.seed}
    if options.dataset_path is not None:
        found = from_file(Path(options.dataset_path), options.num_prompts, options.output_len)
        return found, found[:before]
    if options.vocab_size is None:
        found = random_words(count + before, **sizes)
    else:
        found = random_ids(count + before, options.vocab_size, **sizes)
    return found[:count], found[count:]


def endpoint_path(endpoint: str) -> str:
    """The path of a name.

    Raises:
        UsageError: it is neither a name nor a path.
    """
    path = PATHS.get(endpoint, endpoint)
    if not path.startswith("/"):
        raise UsageError(f"--endpoint {endpoint}: expected {', '.join(PATHS)} or a path like /v1/completions")
    return path


def base_url(options: argparse.Namespace) -> str:
    """Without a path; a ``/v1`` at its end, which the clients of OpenAI want, is taken away."""
    given = options.base_url or f"http://{options.host}:{options.port}"
    return str(given).rstrip("/").removesuffix("/v1")


async def measure(options: argparse.Namespace, asked: Sequence[Ask], before: Sequence[Ask]) -> tuple[str, Run]:
    """Warms up and sends the load; the model's name and the answers.

    Raises:
        KerneletError: the server cannot be reached, or refuses the first request.
    """
    from kernelet.cli.serve_load.arrivals import arrivals
    from kernelet.cli.serve_load.client import LoadClient
    from kernelet.cli.serve_load.drive import drive

    key = options.api_key or env.get("API_KEY")
    path = endpoint_path(options.endpoint)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with LoadClient(base_url(options), path, headers, options.timeout) as client:
        model = options.model or await client.first_model()
        fixed = {"model": model, "temperature": options.temperature, "stream": True}
        fixed |= {"stream_options": {"include_usage": True}} | ({"ignore_eos": True} if options.ignore_eos else {})
        chat = path.endswith("/chat/completions")
        bodies, first = ([fixed | ask.body(chat=chat) | options.extra_body for ask in some] for some in (asked, before))
        await warm_up(client, first)
        due = islice(arrivals(options.request_rate, options.burstiness, options.seed), len(bodies))
        progress = progress_bar("Benchmark", len(bodies), "requests")
        with progress:
            return model, await drive(client, bodies, due, options.max_concurrency, progress)


async def warm_up(client: LoadClient, bodies: Sequence[dict[str, Any]]) -> None:
    """Sends some, so that what is wrong with all of them is said once.

    Raises:
        KerneletError: one failed.
    """
    from kernelet.cli.serve_load.drive import drive

    if not bodies:
        return
    done = await drive(client, bodies, [0.0] * len(bodies), None, Progress())
    for answer in done.answers:
        if answer.error is not None:
            raise KerneletError(f"the request before the load failed: {': '.join(answer.error)}")
