"""What ``/metrics`` shows, in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kernelet_router_prefix.fleet import Engine, Fleet

METRICS: Final[tuple[tuple[str, str, str, Callable[[Engine], float]], ...]] = (
    ("engine_up", "gauge", "Whether an engine takes requests.", lambda engine: engine.up),
    ("open_requests", "gauge", "Requests that an engine works on for this router.", lambda engine: engine.open),
    ("requests_total", "counter", "Requests that an engine was sent.", lambda engine: engine.requests),
    (
        "cached_tokens_total",
        "counter",
        "Prompt tokens of requests that their engine had cached, as far as the router knew.",
        lambda engine: engine.cached_tokens,
    ),
    ("cached_blocks", "gauge", "Blocks that an engine has cached, as it told.", lambda engine: len(engine.blocks)),
)


def metrics_text(fleet: Fleet) -> str:
    """Every metric has the labels ``engine`` (its address) and ``role``."""
    lines: list[str] = []
    for name, kind, help_text, value in METRICS:
        full = f"kernelet_router_{name}"
        lines += [f"# HELP {full} {help_text}", f"# TYPE {full} {kind}"]
        lines += [
            f'{full}{{engine="{engine.url}",role="{engine.role}"}} {float(value(engine)):g}' for engine in fleet.engines
        ]
    return "\n".join(lines) + "\n"
