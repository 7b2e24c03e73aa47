from __future__ import annotations

from acme_weights_encrypted.conformance import TestEncryptedWeights

__all__ = ["TestEncryptedWeights"]
