"""How many tokens a request may generate: a pure function of its prompt's length, ``max_tokens`` and the context."""

from __future__ import annotations

from kernelet.errors import ParameterError, PromptError


def resolve_max_tokens(prompt_len: int, max_tokens: int | None, context: int) -> int:
    """The number of tokens to generate at most, so that prompt and output fit the context together.

    ==================  ==================  ============================================================
    prompt              max_tokens          result
    ==================  ==================  ============================================================
    empty               any                 PromptError
    beyond the context  any                 PromptError
    fills the context   None                PromptError: no room
    fits                None                all that is left of the context
    fits                beyond what's left  ParameterError: a request gets what it asks for, or an error
    fits                0                   0: the prompt is scored, nothing is generated
    fits                within what's left  ``max_tokens``
    ==================  ==================  ============================================================

    Raises:
        PromptError: the prompt is empty, longer than the context, or leaves no room.
        ParameterError: ``max_tokens`` is beyond what the prompt leaves.
    """
    if prompt_len == 0:
        raise PromptError("the prompt is empty: give at least one token")
    if prompt_len > context:
        raise PromptError(
            f"the prompt has {prompt_len} tokens, the context holds {context} (prompt and output together): shorten it"
        )
    left = context - prompt_len
    if max_tokens is None and left == 0:
        raise PromptError(
            f"the prompt has {prompt_len} tokens and fills the context of {context}, so there is no room for output: "
            "shorten it, or ask for max_tokens=0 to only score it"
        )
    if max_tokens is None:
        return left
    if max_tokens > left:
        raise ParameterError(
            "max_tokens",
            f"got {max_tokens}, but the prompt's {prompt_len} tokens leave {left} of the context of {context}: "
            f"lower it to {left}" + (", or give None for all that is left" if left else " or shorten the prompt"),
        )
    return max_tokens
