"""A request as KV connectors see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelet.cache.keys import StreamKeys
from kernelet.request.request import Request


class KVView:
    """``KVRequest`` of one request."""

    def __init__(self, request: Request, root: bytes) -> None:
        """Looks at a request.

        Args:
            request: It may go on.
            root: What all its keys begin with.
        """
        self._request = request
        self._keys = StreamKeys(root, request.data.segments)

    @property
    def request_id(self) -> str:
        return self._request.request_id

    @property
    def token_ids(self) -> Sequence[int]:
        return self._request.token_ids

    @property
    def num_tokens(self) -> int:
        return self._request.num_tokens

    @property
    def num_prompt_tokens(self) -> int:
        return self._request.num_prompt_tokens

    @property
    def kv_transfer_params(self) -> Mapping[str, Any] | None:
        return self._request.data.kv_transfer_params

    @property
    def cache_salt(self) -> str:
        return self._request.data.cache_salt

    @property
    def finish_reason(self) -> str | None:
        reason = self._request.finish_reason
        return None if reason is None else reason.value

    def key(self, num_tokens: int) -> bytes:
        return self._keys.key(self._request.token_ids, num_tokens)
