"""A stand-in for a device module of torch, with the signatures of the real one: for tests without the device."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType, TracebackType
from typing import Any, Self

from kernelet.testing.platform.recording import Call

Answers = Mapping[str, Any]


class RecordingModule:
    """Has the names of a module. Functions take what the real ones take, are remembered, and compute nothing.

    A wrong name, an argument too many or one with another name fails as on the device. Classes make objects that are
    remembered alike: ``Stream(priority=-1)`` is a call ``"Stream"``, ``stream.synchronize()`` is one
    ``"Stream.synchronize"``, and entering one as a context is ``"Stream.__enter__"``.

    Args:
        module: The real module, which needs no device to be imported.
        answers: What calls return, by name: a value, or a function of the same arguments that makes it. A call without
            an answer returns an object of the class that its annotation names, or None.

    Attributes:
        calls: What was called, oldest first.
    """

    def __init__(self, module: ModuleType, answers: Answers | None = None) -> None:
        self._module = module
        self._answers = dict(answers or {})
        self.calls: list[Call] = []

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._module, name)
        if isinstance(real, ModuleType):
            inner = RecordingModule(real, self._answers)
            inner.calls = self.calls
            return inner
        if not callable(real):
            if name not in self._answers:
                raise LookupError(f"{self._module.__name__}.{name} is no function: give it a value in `answers`")
            return self._answers[name]
        return _Function(self, name, real)

    def take(self) -> list[Call]:
        """The calls so far, which are forgotten."""
        taken = list(self.calls)
        self.calls.clear()
        return taken

    def note(
        self,
        name: str,
        real: Callable[..., Any],
        values: tuple[Any, ...],
        options: Mapping[str, Any],
        *,
        method: bool = False,
    ) -> Any:
        """Remembers a call and answers it.

        Args:
            name: Under which it is remembered.
            real: What would be called.
            values: Positional arguments.
            options: Arguments by name.
            method: The first parameter of ``real`` is the object itself.

        Raises:
            TypeError: the real one does not take these arguments.
        """
        answer = self._answers.get(name)
        signature = _signature(real, answer, f"{self._module.__name__}.{name}", method=method)
        try:
            bound = signature.bind(*values, **options)
        except TypeError as error:
            raise TypeError(f"{self._module.__name__}.{name}{signature}: {error}") from None
        self.calls.append(Call(name, dict(bound.arguments)))
        if name in self._answers:
            return answer(*values, **options) if callable(answer) else answer
        return self._made(real)

    def _made(self, real: Callable[..., Any]) -> Any:
        kind = real if inspect.isclass(real) else _returned(real)
        if not inspect.isclass(kind) or kind.__module__ in {"builtins", "typing", "types"}:
            return None
        if kind is AbstractContextManager:
            return nullcontext()
        return _Object(self, kind)


class _Function:
    """A function or a class of the module."""

    def __init__(self, owner: RecordingModule, name: str, real: Callable[..., Any]) -> None:
        self._owner, self._name, self._real = owner, name, real
        self.__name__ = name

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._real)

    def __call__(self, *values: Any, **options: Any) -> Any:
        return self._owner.note(self._name, self._real, values, options)


class _Object:
    """An object of a class of the module."""

    def __init__(self, owner: RecordingModule, kind: type[Any]) -> None:
        self._owner, self._kind = owner, kind

    def __getattr__(self, name: str) -> Any:
        label = f"{self._kind.__name__}.{name}"
        real = getattr(self._kind, name)
        if not callable(real):
            return self._owner._answers.get(label)  # noqa: SLF001
        static = isinstance(inspect.getattr_static(self._kind, name), staticmethod | classmethod)
        return _Method(self._owner, label, real, static=static)

    def __enter__(self) -> Self:
        self._as_context("__enter__")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._as_context("__exit__")

    def _as_context(self, name: str) -> None:
        if not hasattr(self._kind, name):
            raise TypeError(f"{self._kind.__name__} is no context manager")
        self._owner.calls.append(Call(f"{self._kind.__name__}.{name}"))


class _Method:
    """A method of an object of the module."""

    def __init__(self, owner: RecordingModule, label: str, real: Callable[..., Any], *, static: bool) -> None:
        self._owner, self._label, self._real, self._static = owner, label, real, static

    def __call__(self, *values: Any, **options: Any) -> Any:
        return self._owner.note(self._label, self._real, values, options, method=not self._static)


def _signature(real: Callable[..., Any], answer: Any, name: str, *, method: bool) -> inspect.Signature:
    """The real signature as callers see it; where the real one is built in and states none, that of its answer.

    Raises:
        LookupError: there is neither.
    """
    try:
        signature = inspect.signature(real)
    except (ValueError, TypeError):
        if callable(answer):
            return inspect.signature(answer)
        raise LookupError(
            f"{name} states no signature: give a function with the same parameters in `answers`"
        ) from None
    return signature.replace(parameters=list(signature.parameters.values())[1:]) if method else signature


def _returned(real: Callable[..., Any]) -> Any:
    """The class that a function says it returns; None where it says none that can be found."""
    function = inspect.unwrap(real)
    stated = getattr(function, "__annotations__", {}).get("return")
    if not isinstance(stated, str):
        return typing.get_origin(stated) or stated
    first, *rest = stated.split(".")
    found: Any = getattr(function, "__globals__", {}).get(first)
    for name in rest:
        found = getattr(found, name, None)
    return found
