from __future__ import annotations

from types import SimpleNamespace

from kernelet_server_openai.serving.api import Api, Heading, api_of, new_heading, with_salt
from kernelet_server_openai.serving.names import ServedNames


def make_api():
    context = SimpleNamespace(engine="engine")
    return Api(context=context, settings=None, responses=None, names=ServedNames(["first", "second"]))


def test_a_request_gets_a_name_of_its_own():
    api = make_api()
    one, two = (new_heading(api, "cmpl", None) for _ in range(2))
    assert one.id != two.id
    assert one.id.startswith("cmpl-")
    assert one.model == "first"
    assert new_heading(api, "cmpl", "mine").id == "cmpl-mine"


def test_the_head_of_answers():
    assert Heading(id="a", created=1, model="m").fields("kind") == {
        "id": "a",
        "object": "kind",
        "created": 1,
        "model": "m",
    }


def test_the_server_of_a_request():
    api = make_api()
    request = SimpleNamespace(app=SimpleNamespace(state=SimpleNamespace(api=api)))
    assert api_of(request) is api
    assert api.engine == "engine"


def test_prompts_as_the_engine_takes_them():
    assert with_salt("a", None) == {"prompt": "a"}
    assert with_salt([1], "s") == {"prompt_token_ids": [1], "cache_salt": "s"}
