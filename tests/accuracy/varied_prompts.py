"""Twenty prompts of 1 to 1500 tokens: prose, code, tables, other scripts, broken text; nothing to download."""

from __future__ import annotations

import argparse
import inspect
import json
import random
import textwrap
import types
from collections.abc import Callable

LENGTHS = (1, 2, 3, 5, 9, 16, 17, 31, 48, 64, 100, 128, 190, 255, 256, 400, 513, 777, 1024, 1500)

SCRIPTS = (
    "Der schnelle braune Fuchs springt über den faulen Hund, während es in Zürich regnet. ",
    "今日はとても良い天気ですね。明日も晴れるでしょうか。 ",
    "Быстрая коричневая лиса прыгает через ленивую собаку. ",
    "🌶️🙂🙃 emoji, tabs\t\tand   runs of spaces,\n\n\nnew lines, and zero\u200bwidth. ",
    "مرحبا بالعالم، كيف حالك اليوم؟ ",
)


def _table(rng: random.Random) -> str:
    rows = [{"id": i, "price": round(rng.uniform(1, 999), 2), "tags": rng.sample("abcdefgh", 3)} for i in range(200)]
    return json.dumps(rows, indent=1)


def _arithmetic(rng: random.Random) -> str:
    return "\n".join(
        f"{a} + {b} = {a + b}" for a, b in ((rng.randrange(1000), rng.randrange(1000)) for _ in range(400))
    )


def texts(seed: int) -> list[str]:
    """Five kinds of text, each long enough for the longest prompt."""
    rng = random.Random(seed)
    prose = textwrap.dedent(inspect.getdoc(argparse) or "") + (inspect.getdoc(random) or "") * 8
    prose += " ".join((inspect.getdoc(getattr(random, name)) or "") for name in random.__all__) * 4
    code = inspect.getsource(types)
    scripts = "".join(rng.choice(SCRIPTS) for _ in range(200))
    return [prose, code, _table(rng), scripts, _arithmetic(rng)]


def prompts(encode: Callable[[str], list[int]], seed: int) -> list[list[int]]:
    """Token ids of the prompts, one a length, each cut from another place of another kind of text."""
    rng = random.Random(seed)
    pools = [encode(text) for text in texts(seed)]
    chosen = []
    for i, length in enumerate(LENGTHS):
        pool = pools[i % len(pools)]
        if len(pool) < length:
            pool = pool * (length // len(pool) + 1)
        start = rng.randrange(len(pool) - length + 1)
        chosen.append(pool[start : start + length])
    return chosen
