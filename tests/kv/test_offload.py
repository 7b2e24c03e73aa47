"""kv-offload with the demo model: loaded from memory, and from disk by another engine, it says the same."""

from __future__ import annotations

import logging

from kernelet import LLM, SamplingParams

PROMPTS = [
    (
        "In the year 1869 the first railway across the continent was finished, and people who had walked for months "
        "could now ride for a week. The towns along the line grew as fast as the trains could bring timber, glass and "
        "nails, and each of them wanted to be the one where the engines were"
    ),
    (
        "A recipe for bread: take flour, water, salt and a little of the dough that was left over from the day before. "
        "Mix them in the evening, cover the bowl, and go to bed. In the morning the dough has doubled; fold it, let it "
        "rest for an hour, and heat the oven as far as it"
    ),
]
PARAMS = SamplingParams(temperature=0, max_tokens=6, ignore_eos=True)
CHUNK = 16


def answer(model, folder, times, block_size):
    """Token ids of both prompts each time, their lengths, and what the engine counted."""
    settings = {"platform-cpu": {"threads": 1}, "kv-offload": {"path": str(folder), "chunk_tokens": CHUNK}}
    with LLM(
        str(model),
        dtype="bfloat16",
        max_model_len=256,
        num_blocks=128,
        block_size=block_size,
        enable_prefix_caching=False,
        kv_connector="kv-offload",
        set=settings,
    ) as llm:
        answers = [llm.generate(PROMPTS, PARAMS, use_tqdm=False) for _ in range(times)]
        lengths = [len(output.prompt_token_ids) for output in answers[0]]
        tokens = [[output.outputs[0].token_ids for output in outputs] for outputs in answers]
        return tokens, lengths, llm.stats()


def test_memory_restart_and_a_damaged_file(smollm2_path, tmp_path, caplog):
    """The second engine has blocks of another size; the first prompt's third file is damaged."""
    (computed, loaded), lengths, stats = answer(smollm2_path, tmp_path, times=2, block_size=16)
    chunks = [count // CHUNK for count in lengths]
    assert loaded == computed
    assert min(chunks) >= 3
    assert stats.external_hits == sum(chunks) * CHUNK
    assert stats.kv_connectors["kv-offload"]["memory_chunks"] == sum(chunks)
    used = sorted(tmp_path.glob("*/*.kv"), key=lambda file: file.stat().st_mtime_ns)[-sum(chunks) :]
    third = used[2]  # in the order in which they were loaded
    data = bytearray(third.read_bytes())
    data[len(data) // 2] ^= 1
    third.write_bytes(data)
    with caplog.at_level(logging.WARNING):
        (restarted,), _, stats = answer(smollm2_path, tmp_path, times=1, block_size=32)
    assert restarted == computed
    assert stats.external_hits == (2 + chunks[1]) * CHUNK
    assert stats.kv_connectors["kv-offload"]["disk_chunks"] == sum(chunks)
    assert f"{third} is damaged" in caplog.text
