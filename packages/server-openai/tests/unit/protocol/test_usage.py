from __future__ import annotations

import pytest
from pydantic import ValidationError

from kernelet_server_openai.protocol.usage import Usage


def test_counts_are_needed():
    assert Usage(prompt_tokens=1, completion_tokens=2, total_tokens=3).prompt_tokens_details is None
    with pytest.raises(ValidationError):
        Usage(prompt_tokens=1)
