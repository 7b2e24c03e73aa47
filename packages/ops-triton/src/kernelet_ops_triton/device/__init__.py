"""What runs on the device: plain kernels, whose every size is a parameter; compiled, or interpreted on the CPU.

A tensor is widened to float32 as soon as it is loaded, and narrowed where it is multiplied as a matrix or stored.
"""

from __future__ import annotations
