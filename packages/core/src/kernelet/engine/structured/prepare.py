"""A request's constraint before it runs: to rules, in the sandbox, and to the engine that enforces all of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import msgspec

from kernelet.config import StructuredConfig
from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.engine.sandbox.pool import Sandbox
from kernelet.engine.structured.cache import SizedCache
from kernelet.errors import (
    MalformedConstraintError,
    ParameterError,
    SandboxError,
    SandboxTargetError,
    UnenforcedConstraintError,
)
from kernelet.request.structured import VALIDATED, VIOLATED, State
from kernelet.request.structured_outputs import check_structured_outputs
from kernelet.structured.constraint import Constraint, calls_constraint, make_constraint
from kernelet.structured.lowering import LOWER, LowerCall, Lowered
from kernelet.structured.refusal import InvalidConstraintError
from kernelet.structured.select import EngineBounds, choose, in_order
from kernelet.structured.tags.calls import ToolCalls
from kernelet.structured.validating import VALIDATE, ValidateCall

logger = logging.getLogger(__name__)

NAME: Final = "structured_outputs"
"""The field that errors name."""

AUTO: Final = "auto"
"""The name of no engine: the best one."""

CACHE_BYTES: Final = 64 << 20
"""Of rules that are kept."""

ROOT: Final = "the schema as a whole"
"""The place that no pointer leads to."""

_WHAT: Final = "reading the constraint"
_CHECK: Final = "comparing the text with its constraint"


@dataclass(frozen=True, kw_only=True)
class PreparedConstraint:
    """What becomes of a request's constraint.

    Attributes:
        constraint: As it was asked for.
        engine: Who enforces it; None: nobody, the text is free and is checked at its end.
        states: What is enforced.
        others: Who is tried next, in their order, where that one cannot compile it.
    """

    constraint: Constraint
    engine: str | None
    states: tuple[State, ...] = ()
    others: tuple[str, ...] = ()


class StructuredOutputs:
    """Prepares constraints. Safe to use from several threads and event loops.

    Args:
        offers: Of grammar engines.
        config: The operator's bounds and choice.
        sandbox: Where constraints are read.
        how_to_get: What to do where there is no engine.
        added_tokens: Texts that the model's tokenizer never cuts, with their ids.
    """

    def __init__(
        self,
        offers: Sequence[GrammarEngineOffer] = (),
        config: StructuredConfig | None = None,
        sandbox: Sandbox | None = None,
        how_to_get: str = "",
        added_tokens: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._config = config or StructuredConfig()
        allowed = self._config.allowed_backends
        self._offers = tuple(one for one in in_order(offers) if allowed is None or one.name in allowed)
        self._forbidden = {one.name for one in offers}.difference(one.name for one in self._offers)
        self._sandbox = sandbox or Sandbox(memory_bytes=self._config.compile_memory)
        self._how_to_get = how_to_get
        self._added_tokens = added_tokens
        self._bounds = tuple(EngineBounds.of(offer) for offer in self._offers)
        self._cache = SizedCache[Lowered](CACHE_BYTES)

    @property
    def in_reasoning(self) -> bool:
        """Whether constraints hold from the first token on, in reasoning too."""
        return self._config.in_reasoning

    @property
    def max_whitespace(self) -> int:
        """Longest run of insignificant whitespace."""
        return self._config.max_whitespace

    def prepare(self, params: object) -> PreparedConstraint:
        """Everything that can be said about a constraint before it runs. Blocks.

        Args:
            params: ``StructuredOutputsParams``, a mapping of its names, or ``ToolCalls``.

        Raises:
            ParameterError: it is malformed, too large, or not enforced; names every place that is not.
            SandboxError: it took too long, or too much memory.
        """
        named, constraint = self._begin(params)
        found = self._lowered(constraint, None)
        blamed = self._blamed(named, found)
        return self._decide(named, constraint, found, self._lowered(constraint, blamed) if blamed else found)

    async def prepare_async(self, params: object) -> PreparedConstraint:
        """``prepare`` for an event loop, which it does not block."""
        named, constraint = self._begin(params)
        found = await self._lowered_async(constraint, None)
        blamed = self._blamed(named, found)
        places = await self._lowered_async(constraint, blamed) if blamed else found
        return self._decide(named, constraint, found, places)

    def check(self, constraint: Constraint, text: str) -> str:
        """``"validated"`` or ``"violated"``: a finished text against a constraint that nobody enforced. Blocks."""
        payload = msgspec.msgpack.encode(ValidateCall(constraint=constraint, text=text))
        try:
            return verdict(self._sandbox.call_sync(VALIDATE, payload, self._config.compile_timeout, what=_CHECK))
        except SandboxError as error:
            return unchecked(error)

    async def check_async(self, constraint: Constraint, text: str) -> str:
        """``check`` for an event loop."""
        payload = msgspec.msgpack.encode(ValidateCall(constraint=constraint, text=text))
        try:
            return verdict(await self._sandbox.call(VALIDATE, payload, self._config.compile_timeout, what=_CHECK))
        except SandboxError as error:
            return unchecked(error)

    def close(self) -> None:
        """Ends the helpers. May be called twice."""
        self._sandbox.close()

    # --- inside ----------------------------------------------------------------------------------

    def _begin(self, params: object) -> tuple[str | None, Constraint]:
        """The engine that is named, and what it is to enforce."""
        checked = params if isinstance(params, ToolCalls) else check_structured_outputs(NAME, params)
        if not self._offers and not self._validates:
            get = self._how_to_get
            raise ParameterError(NAME, f"no grammar engine is installed{f': {get}' if get else ''}")
        try:
            if isinstance(checked, ToolCalls):
                return self._named(None), calls_constraint(checked, self._config, self._added_tokens)
            return self._named(checked.backend), make_constraint(checked, self._config, self._added_tokens)
        except InvalidConstraintError as error:
            raise MalformedConstraintError(NAME, error.reason, error.path) from None

    @property
    def _validates(self) -> bool:
        return self._config.fallback == "validate"

    def _named(self, backend: str | None) -> str | None:
        """The engine that the request, else the operator, names; None: the best one."""
        name = backend or self._config.backend
        if name is None or name == AUTO:
            return None
        known = [offer.name for offer in self._offers]
        if name not in known:
            choices = ", ".join([AUTO, *known])
            if name in self._forbidden:
                raise ParameterError(NAME, f"backend: requests may not name {name!r}; they may name {choices}")
            raise ParameterError(NAME, f"backend: no grammar engine is named {name!r}; there are {choices}")
        return name

    def _lowered(self, constraint: Constraint, blame: EngineBounds | None) -> Lowered:
        """What a helper makes of a constraint; with ``blame``, where that engine does not enforce it."""
        found = self._cache.get((constraint, blame))
        if found is not None:
            return found
        call = self._call(constraint, blame)
        try:
            reply = self._sandbox.call_sync(LOWER, call, self._config.compile_timeout, what=_WHAT)
        except SandboxTargetError as error:
            raise unreadable(error) from None
        return self._keep(constraint, blame, reply)

    async def _lowered_async(self, constraint: Constraint, blame: EngineBounds | None) -> Lowered:
        found = self._cache.get((constraint, blame))
        if found is not None:
            return found
        call = self._call(constraint, blame)
        try:
            reply = await self._sandbox.call(LOWER, call, self._config.compile_timeout, what=_WHAT)
        except SandboxTargetError as error:
            raise unreadable(error) from None
        return self._keep(constraint, blame, reply)

    def _call(self, constraint: Constraint, blame: EngineBounds | None) -> bytes:
        call = LowerCall(
            constraint=constraint,
            limits=self._config.limits,
            engines=self._bounds,
            validates=self._validates,
            blame=blame,
        )
        return msgspec.msgpack.encode(call)

    def _keep(self, constraint: Constraint, blame: EngineBounds | None, reply: bytes) -> Lowered:
        found = msgspec.msgpack.decode(reply, type=Lowered)
        self._cache.put((constraint, blame), found, len(reply) + len(constraint.text))
        return found

    def _blamed(self, named: str | None, found: Lowered) -> EngineBounds | None:
        """The engine because of which a constraint is refused: the one that is named, else the best of those unfit."""
        if self._validates or (named is None and len(found.unfit) < len(self._bounds)):
            return None
        return next((one for one in self._bounds if one.name in found.unfit and named in (None, one.name)), None)

    def _decide(self, named: str | None, constraint: Constraint, found: Lowered, places: Lowered) -> PreparedConstraint:
        if found.invalid:
            raise MalformedConstraintError(NAME, found.invalid, found.invalid_at)
        reasons = [f"{path}: {reason}" if path else reason for path, reason in found.refusals]
        if not reasons:
            unfit = found.unfit
            if places.refusals and (blamed := self._blamed(named, found)) is not None:
                unfit = unfit | {blamed.name: "; ".join(f"{path or ROOT}: {why}" for path, why in places.refusals)}
            choice = choose(named, self._offers, unfit) if self._offers else None
            if choice is not None and choice.name is not None:
                return PreparedConstraint(
                    constraint=constraint, engine=choice.name, states=found.states, others=choice.others
                )
            reasons = [choice.reason if choice is not None else "no grammar engine is installed"]
        if self._validates:
            return PreparedConstraint(constraint=constraint, engine=None)
        raise UnenforcedConstraintError(NAME, reasons, places.refusals)


def verdict(reply: bytes) -> str:
    """What a helper found."""
    return VALIDATED if reply == b"1" else VIOLATED


def unchecked(error: SandboxError) -> str:
    """What is said of a text that could not be compared: it is not known to be right."""
    logger.warning("a text counts as violating its constraint: %s", error)
    return VIOLATED


def unreadable(error: SandboxTargetError) -> ParameterError:
    """A constraint at which core itself fails."""
    logger.error("a constraint could not be read: %s", error)
    return ParameterError(NAME, f"the constraint could not be read ({error.error}): please report it")
