"""How much one request may ask for. Each limit bounds memory or time that the request would take from others."""

from __future__ import annotations

from typing import Final

MAX_N: Final = 128
"""Answers of one request: each holds its own blocks and a row of every step. As in OpenAI's API."""

MAX_STOP_STRINGS: Final = 256
"""Stop strings: all are searched in every piece of text, and their automaton is built before the request starts."""

MAX_STOP_BYTES: Final = 16 * 1024
"""UTF-8 bytes of all stop strings together: the automaton has one state a character."""

MAX_STOP_TOKEN_IDS: Final = 1024
"""Stop token ids: looked up at every token, and suppressed one by one while ``min_tokens`` holds."""

MAX_BAD_WORDS: Final = 1024
"""Bad words: each is tokenized in two forms and compared with the output's end at every token."""

MAX_BAD_WORDS_BYTES: Final = 64 * 1024
"""UTF-8 bytes of all bad words together, which bounds the time spent on tokenizing them."""

MAX_LOGIT_BIAS: Final = 4096
"""Entries of ``logit_bias``: written into the request's row at every token."""

MAX_EXTRA_ARGS_DEPTH: Final = 32
"""Nesting of ``extra_args``: it is sent to other processes, and encoders recurse."""

MAX_EXTRA_ARGS_BYTES: Final = 1024 * 1024
"""Encoded size of ``extra_args``, which travels with the request."""

MIN_TEMPERATURE: Final = 1e-5
"""Smaller temperatures are greedy, as in vLLM: dividing by them would overflow and tell no tokens apart."""

MAX_TEMPERATURE: Final = 100.0
"""Beyond this every token is about equally likely, and scaled logits lose the digits that tell them apart."""

MIN_REPETITION_PENALTY: Final = 0.01
"""Smaller values blow logits up until they overflow."""

MAX_REPETITION_PENALTY: Final = 100.0
"""Larger values make logits overflow in half precision."""

MAX_SEED: Final = 2**63 - 1
"""Seeds are stored in 63 bits."""

MAX_COUNT: Final = 2**31 - 1
"""Counts that the context limits anyway; larger ones do not fit the messages between processes on every platform."""
