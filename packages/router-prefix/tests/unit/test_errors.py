from __future__ import annotations

import json

from kernelet_router_prefix.errors import RouterError


def test_the_shape_is_that_of_openais_api():
    assert json.loads(RouterError(400, "a: wrong", "bad", "a").body()) == {
        "error": {"message": "a: wrong", "type": "invalid_request_error", "param": "a", "code": "bad"}
    }
    assert json.loads(RouterError(503, "x", "y").body())["error"]["type"] == "server_error"
