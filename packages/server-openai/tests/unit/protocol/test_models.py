from __future__ import annotations

from kernelet_server_openai.protocol.models import ModelCard, ModelList


def test_the_shape_of_openai():
    card = ModelCard(id="a", created=1, root="r", max_model_len=8)
    found = ModelList(data=[card]).model_dump()
    assert found["object"] == "list"
    assert {"id": "a", "object": "model", "created": 1, "owned_by": "kernelet"}.items() <= found["data"][0].items()
