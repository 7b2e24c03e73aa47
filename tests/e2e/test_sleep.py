"""An engine that slept says the same, with the platform's own weights and their cache."""

from __future__ import annotations

from kernelet import LLM, SamplingParams


def test_what_was_said_before_is_said_after_each_sleep(smollm2_path, options, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELET_CACHE_DIR", str(tmp_path))
    params = SamplingParams(temperature=0.0, max_tokens=8)
    with LLM(str(smollm2_path), **options) as llm:
        client = llm.frontend.client

        def text():
            return llm.generate("The capital of France is", params, use_tqdm=False)[0].outputs[0].text

        before = text()
        for level in (2, 1, 2):
            client.sleep(level)
            assert client.health().state == "asleep"
            client.wake_up()
            assert text() == before
    assert list((tmp_path / "packed").iterdir())
