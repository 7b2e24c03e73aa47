from __future__ import annotations

import pytest

from kernelet.contracts.kv import KVWorkerContext
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.testing.kv_connector.pages import PlainPages, plain_layout
from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet_kv_nixl.connector import NixlWorker, check
from kernelet_kv_nixl.plugin import kernelet_options

DEFAULTS = {key: option.default for key, option in kernelet_options().schema.items()}


def settings(**values):
    return Settings(plugin="kv-nixl", values={**DEFAULTS, **values})


def test_each_rank_has_an_agent_of_its_own_name(fake_nixl):
    context = KVWorkerContext(identity=IDENTITY, role="both", engine_id="e", pages=PlainPages([plain_layout()]))
    workers = [NixlWorker(settings(buffers=1, buffer_mib=1), context) for _ in range(2)]
    names = {worker._transport._agent.name for worker in workers}
    assert len(names) == 2 and all(name.startswith("e-0-") for name in names)
    for worker in workers:
        worker.shutdown()


def test_the_check_says_what_is_wrong(fake_nixl):
    check(settings())
    with pytest.raises(ConfigError, match="backend"):
        check(settings(backend="other"))
