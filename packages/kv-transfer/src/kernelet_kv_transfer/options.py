"""What all connectors of this protocol can be told; registration data only."""

from __future__ import annotations

from kernelet.contracts.offer import Option


def options() -> dict[str, Option]:
    """A new mapping, to which a connector adds its own."""
    return {
        "host": Option(
            type=str, default="127.0.0.1", help="address on which ranks listen, and under which others reach them"
        ),
        "port": Option(type=int, default=0, help="port of the first rank, the next ones follow; 0: any free one"),
        "lease": Option(
            type=int, default=120, help="seconds that a prompt is kept without a word of an engine that wants it"
        ),
        "buffers": Option(type=int, default=4, help="transfers at a time, each way; each has a buffer"),
        "buffer_mib": Option(
            type=int, default=4, help="MiB of a buffer: the largest part of a prompt that goes at once"
        ),
        "after_part": Option(
            type=str, default="", help="for tests: module:function that is called with load and part after each part"
        ),
    }
