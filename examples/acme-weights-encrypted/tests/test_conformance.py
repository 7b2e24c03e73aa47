from __future__ import annotations

from acme_weights_encrypted.conformance import TestEncryptedWeights, TestPackage

__all__ = ["TestEncryptedWeights", "TestPackage"]
