"""The demo model says the same whether its keys and values were computed or come from LMCache, also after a restart."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import time
from pathlib import Path

import pytest

from kernelet import LLM, SamplingParams

pytestmark = pytest.mark.skipif(importlib.util.find_spec("lmcache") is None, reason="lmcache is not installed here")

PROMPTS = [
    (
        "In the year 1869 the first railway across the continent was finished, and people who had walked for months "
        "could now ride for a week. The towns along the line grew as fast as the trains could bring timber, glass and"
    ),
    (
        "A recipe for bread: take flour, water, salt and a little of the dough that was left over from the day before. "
        "Mix them in the evening, cover the bowl, and go to bed. In the morning the dough has doubled; fold it, let it"
    ),
]
PARAMS = SamplingParams(temperature=0, max_tokens=4, ignore_eos=True)
CHUNK = 16
PATIENCE = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of the file tier."""
    return tmp_path_factory.mktemp("lmcache")


@pytest.fixture(scope="module")
def computed():
    """What the engine says with its own arithmetic, once it did."""
    return []


def engine(folder, connectors, block_size, **others):
    own = {"spawn": True, "path": str(folder), "memory_gb": 0.25, "chunk_size": CHUNK, "start_timeout": PATIENCE}
    return LLM(
        "smollm2-135m",
        dtype="bfloat16",
        max_model_len=256,
        num_blocks=128,
        block_size=block_size,
        enable_prefix_caching=False,
        kv_connector=connectors,
        set={"platform-cpu": {"threads": 1}, "kv-lmcache": own, **others},
    )


def answer(llm):
    """What both prompts are answered with."""
    return [output.outputs[0].token_ids for output in llm.generate(PROMPTS, PARAMS, use_tqdm=False)]


def loadable(llm):
    """Tokens of both prompts that are in whole chunks; the last token is always computed."""
    lengths = [len(output.prompt_token_ids) for output in llm.generate(PROMPTS, PARAMS, use_tqdm=False)]
    return sum(min(count // CHUNK * CHUNK, count - 1) for count in lengths)


def servers():
    """LMCache servers that this process has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_text().split("\0")
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == os.getpid() and "serve" in words:
            found.append(int(entry.name))
    return found


def test_loads_and_outlives_its_server(folder, computed, caplog):
    with engine(folder, "kv-lmcache", block_size=16) as llm, caplog.at_level(logging.WARNING):
        computed += answer(llm)
        assert llm.stats().external_hits == 0
        assert answer(llm) == computed
        loaded = llm.stats().external_hits
        assert loaded == loadable(llm)
        assert llm.stats().kv_connectors["kv-lmcache"]["saved_tokens"] >= loaded
        (server,) = servers()
        os.kill(server, signal.SIGKILL)
        assert answer(llm) == computed
        assert caplog.text.count("does not answer") == 1
        end = time.monotonic() + PATIENCE
        while llm.stats().external_hits < 3 * loaded and time.monotonic() < end:
            assert answer(llm) == computed
            time.sleep(0.2)
        assert llm.stats().external_hits >= 3 * loaded, "another server has what the files hold"
        assert "another one is started" in caplog.text
    assert not servers()


def test_restart_in_a_composition_with_a_damaged_file(folder, computed, caplog):
    """kv-offload has nothing at first, and is the one that loads afterwards. Blocks are of another size."""
    files = sorted(folder.glob("*.data"))
    data = bytearray(files[0].read_bytes())
    data[len(data) // 2] ^= 1
    files[0].write_bytes(data)
    offload = {"kv-offload": {"chunk_tokens": CHUNK}}
    with engine(folder, ["kv-offload", "kv-lmcache"], 32, **offload) as llm, caplog.at_level(logging.WARNING):
        assert answer(llm) == computed
        loaded = llm.stats().external_hits
        assert caplog.text.count("is not what was stored") == 1
        counted = llm.stats().kv_connectors["kv-lmcache"]
        assert counted["loaded_tokens"] == loaded
        assert counted["spoiled_chunks"] == 1
        assert 0 < loaded < loadable(llm)
        assert answer(llm) == computed
        assert llm.stats().external_hits > 2 * loaded
        assert llm.stats().kv_connectors["kv-lmcache"]["loaded_tokens"] == loaded


def test_what_was_damaged_is_stored_again(folder, computed):
    """Under another name: an engine that starts finds the damage first, and what replaces it from then on."""
    with engine(folder, "kv-lmcache", 16) as llm:
        assert answer(llm) == computed
        assert llm.stats().kv_connectors["kv-lmcache"]["spoiled_chunks"] == 1
        assert answer(llm) == computed
        before = llm.stats().external_hits
        assert answer(llm) == computed
        assert llm.stats().external_hits - before == loadable(llm)
