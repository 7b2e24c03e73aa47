"""What KV connectors say to the client: ``kv_transfer_params`` of an answer, or of the chunk that ends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelet.request.outputs import RequestOutput
from kernelet_server_openai.serving.sending import ENCODER


def handed_over(outputs: Sequence[RequestOutput]) -> dict[str, Any]:
    """The field, where there is something to say."""
    found = next((one.kv_transfer_params for one in outputs if one.kv_transfer_params is not None), None)
    return {} if found is None else {"kv_transfer_params": found}


def told_handover(output: RequestOutput) -> bytes:
    """The same as a further member of a chunk."""
    found = handed_over((output,))
    return b"," + ENCODER.encode(found)[1:-1] if found else b""
