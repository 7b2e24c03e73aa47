from __future__ import annotations

import asyncio

import pytest

from kernelet.contracts.lifecycle import ProcessRole
from kernelet.contracts.sampling import SamplingParams
from kernelet.engine.bootstrap import configure_engine, start_in_process
from kernelet.engine.option_sources import resolve_options
from kernelet.errors import ManifestMismatchError
from kernelet.kernel import Manifest
from kernelet.serve import engine
from kernelet.serve.engine import join, start_engine


@pytest.fixture
def launched(monkeypatch):
    """Engines in this process, in place of processes; keeps how they were asked for."""
    calls = []

    def spawn(configured, options):
        calls.append(("spawn", configured.kernel.role, options.restart, options.limits.step_timeout))
        client = start_in_process(configured)
        client.folder = "/where/it/is"
        return client

    def connect(folder, index, options):
        calls.append(("connect", folder, index, options.restart, options.limits.step_timeout))
        client = start_in_process(configured[0])
        client.folder = folder
        return client

    configured = []
    monkeypatch.setattr(engine, "spawn_engine", spawn)
    monkeypatch.setattr(engine, "connect_engine", connect)
    return calls, configured


@pytest.fixture
def parent(null_folder, null_options):
    return configure_engine(null_folder, resolve_options({**null_options, "engine_step_timeout": 7}, environ={}))


async def answer(joined):
    params = SamplingParams(temperature=0.0, max_tokens=4)
    return [output async for output in joined.engine.generate("x", params)][-1].outputs[0].token_ids


def test_the_parent_starts_it_and_others_join(launched, parent):
    calls, configured = launched
    configured.append(parent)
    first = start_engine(parent, restart=True)
    second = join(parent.kernel.manifest.encode(), parent.config, first.address, 1)
    try:
        assert calls == [
            ("spawn", ProcessRole.FRONTEND, True, 7.0),
            ("connect", "/where/it/is", 1, False, 7.0),
        ]
        assert first.manifest_digest == second.manifest_digest == parent.kernel.manifest.digest
        assert first.plugins is parent.kernel
        assert second.plugins is not parent.kernel
        assert asyncio.run(answer(first)) == asyncio.run(answer(second))
        assert first.io_processors == {}
    finally:
        for joined in (first, second):
            joined.close()
            joined.close()
    assert first.engine.health().state == "dead"


def test_another_manifest_is_refused(launched, parent):
    manifest = Manifest.decode(parent.kernel.manifest.encode())
    other = Manifest(core="0.0.0", plugins=manifest.plugins)
    with pytest.raises(ManifestMismatchError):
        join(other.encode(), parent.config, "/where/it/is", 1)
    assert launched[0] == []
