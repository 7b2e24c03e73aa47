"""Structured output: what constraints may ask for, who enforces them, and what that may take."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class ConstraintLimits:
    """How large a constraint may be; larger ones are refused before anything looks at what they say.

    Attributes:
        max_bytes: UTF-8 bytes of its text.
        max_depth: Nesting of a schema.
        max_nodes: Values of a schema, all together.
        max_repeat: Largest bound of a repetition: ``{n}``, ``maxItems``, ``minLength`` and the like.
        max_enum: Values of an ``enum``, texts of a ``choice``.
        max_expressions: Expressions of the rules that it becomes.
    """

    max_bytes: int = 64 << 10
    max_depth: int = 64
    max_nodes: int = 10_000
    max_repeat: int = 10_000
    max_enum: int = 2_000
    max_expressions: int = 50_000


@dataclass(frozen=True, kw_only=True)
class StructuredConfig:
    """How structured output is done.

    Attributes:
        backend: Name of the grammar engine of requests that name none; None: the best that enforces all of it.
        allowed_backends: Names of the only grammar engines that serve requests; None: all that are installed do.
        fallback: What becomes of a constraint that cannot be enforced: ``"none"``: it is refused; ``"validate"``: the
            text is free, and is checked at its end.
        disable_any_whitespace: JSON is compact, whatever requests say.
        disable_additional_properties: Objects have no unnamed properties unless the schema asks for them.
        max_whitespace: Longest run of insignificant whitespace in JSON.
        in_reasoning: Constraints hold from the first token on, in reasoning too.
        jump_forward: Tokens that a constraint leaves no choice about are not sampled: a run of them costs one step.
        limits: Of a constraint.
        compile_timeout: Seconds that a constraint may take to become rules, and rules to become masks' maker.
        compile_memory: Bytes that either may take.
        compile_inline: Compile when a request comes, while everybody waits: ranks that decide alone then decide alike.
        cache_bytes: Of compiled grammars that are kept.
        mask_timeout: Seconds that one token's mask may take.
        mask_threads: Threads that fill masks.
    """

    backend: str | None = None
    allowed_backends: tuple[str, ...] | None = None
    fallback: str = "none"
    disable_any_whitespace: bool = False
    disable_additional_properties: bool = False
    max_whitespace: int = 8
    in_reasoning: bool = False
    jump_forward: bool = True
    limits: ConstraintLimits = field(default_factory=ConstraintLimits)
    compile_timeout: float = 10.0
    compile_memory: int = 1 << 30
    compile_inline: bool = False
    cache_bytes: int = 256 << 20
    mask_timeout: float = 10.0
    mask_threads: int = 4
