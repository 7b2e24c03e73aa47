"""The one error of a release."""

from __future__ import annotations


class ReleaseError(Exception):
    """The release is refused; the message says why and what to do."""
