from __future__ import annotations

import asyncio
import json

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import SamplerParams
from kernelet.testing.endpoint.asgi import Call, call
from kernelet.testing.endpoint.reference import ReferenceEndpoint
from kernelet.testing.null.engine import null_engine
from kernelet.testing.null.tokens import generate


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    with null_engine(tmp_path_factory.mktemp("model")) as engine:
        yield ReferenceEndpoint(Settings(plugin="p"), engine).app


def ask(app, *arguments, **fields):
    return asyncio.run(call(app, Call(*arguments, **fields), "/a/beside"))


def test_it_says_how_the_engine_does(app):
    assert json.loads(ask(app).body) == {"state": "ready"}


def test_it_completes(app):
    body = json.dumps({"prompt": "x", "max_tokens": 30}).encode()
    tokens = generate(list(b"x"), SamplerParams(seed=0, temperature=0.0), 256, 30)
    truth = bytes(tokens).decode(errors="replace")
    assert ask(app, method="POST", path="/complete", body=body).body.decode() == truth


@pytest.mark.parametrize("body", [b"", b"{}", b'{"prompt": 1, "max_tokens": 3}', b'{"prompt": "x", "max_tokens": -1}'])
def test_what_is_wrong_is_a_400(app, body):
    assert ask(app, method="POST", path="/complete", body=body).status == 400


def test_other_paths(app):
    assert ask(app, path="/x").status == ask(app, method="POST").status == 404
