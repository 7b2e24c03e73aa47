from __future__ import annotations

from asgi_calls import get
from scripted_engine import ScriptedEngine

from kernelet_server_openai.protocol.models import ModelCard


def test_every_name_is_listed(make_app):
    app = make_app(ScriptedEngine(), "org/model", "alias")
    cards = [ModelCard.model_validate(one) for one in get(app, "/v1/models").json()["data"]]
    assert [(card.id, card.root, card.max_model_len) for card in cards] == [
        ("org/model", "fake", 64),
        ("alias", "fake", 64),
    ]


def test_one_name(make_app):
    app = make_app(ScriptedEngine(), "org/model", "alias")
    assert get(app, "/v1/models/org/model").json()["id"] == "org/model"
    reply = get(app, "/v1/models/other")
    assert (reply.status, reply.error["code"]) == (404, "model_not_found")
