"""Beam search for Kernelet."""

from __future__ import annotations

from acme_beam_search.generate import BeamSearchOutput, BeamSequence, beam_search
from acme_beam_search.params import BeamSearchParams

__all__ = ["BeamSearchOutput", "BeamSearchParams", "BeamSequence", "beam_search"]
