"""An engine's process: work in, tokens and seconds out, errors as one line, and no process left behind."""

from __future__ import annotations

import os
import sys
import textwrap

import pytest
from peers.engine import EngineError, Launch, Peer, environment, first_token
from peers.workshop import ENGINES

COUNTING = """
    def run(prompts, tokens):
        return [[prompt[-1] + 1 + i for i in range(tokens)] for prompt in prompts]
"""


@pytest.fixture
def launch(tmp_path):
    def make(body, before=""):
        script = tmp_path / "run_own.py"
        lines = [
            f"import sys; sys.path.insert(0, {str(ENGINES)!r})",
            "from serve import serve",
            before,
            "def make(options):",
            "    print('loading', options.threads)  # goes nowhere near the answers",
            textwrap.indent(textwrap.dedent(body), "    "),
            "    return run",
            "serve(make, 'pytest')",
        ]
        script.write_text("\n".join(lines))
        options = {"model": "m", "precision": "bf16", "threads": 3}
        return Launch(name="own", python=sys.executable, script=script, options=options)

    return make


def test_tokens_and_seconds(launch):
    with Peer(launch(COUNTING)) as peer:
        peer.wait()
        peer.sleep()
        seconds, tokens = peer.run([[1, 5], [7]], 3)
        assert tokens == [[6, 7, 8], [8, 9, 10]]
        assert 0 < seconds < 10
        assert peer.version == pytest.__version__
        peer.sleep()
        assert peer.run([[1]], 1)[1] == [[2]]
        pid = peer.process.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_engine_that_stops_early_is_an_error(launch):
    body = """
        def run(prompts, tokens):
            return [[1] for _ in prompts]
    """
    with Peer(launch(body)) as peer:
        peer.wait()
        with pytest.raises(EngineError, match=r"ValueError: 1 prompts with 4 tokens each gave 1 of \[1\]"):
            peer.run([[1]], 4)


def test_an_engine_that_cannot_load(launch):
    with Peer(launch("raise MemoryError('no room')")) as peer, pytest.raises(EngineError, match="MemoryError: no room"):
        peer.wait()


def test_an_engine_that_dies(launch):
    body = """
        def run(prompts, tokens):
            import os
            print('illegal instruction', file=sys.stderr, flush=True)
            os._exit(4)
    """
    with Peer(launch(body)) as peer:
        peer.wait()
        with pytest.raises(EngineError, match="illegal instruction"):
            peer.run([[1]], 1)


def test_first_token_counts_from_the_start_of_the_process(launch):
    assert first_token(launch(COUNTING, before="import time; time.sleep(0.3)"), [1]) > 0.3


def test_the_environment_sets_no_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("LANG", "C")
    found = environment()
    assert "OMP_NUM_THREADS" not in found
    assert found["LANG"] == "C"
