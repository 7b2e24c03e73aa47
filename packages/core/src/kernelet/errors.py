"""Every exception of Kernelet. A message says what went wrong and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class KerneletError(Exception):
    """Base of all errors raised on purpose."""


# --- start-up ------------------------------------------------------------------------------------


class PluginError(KerneletError):
    """A plugin could not be discovered, checked, loaded or used."""


class IncompatiblePluginError(PluginError):
    """A plugin's metadata asks for another core or contract version; it was not imported."""


class DuplicatePluginError(PluginError):
    """Two distributions claim one entry-point name, or two offers one name."""


class UnknownPluginError(PluginError):
    """A name in an allow-list or a selection matches nothing that is installed."""


class SelectionError(PluginError):
    """No offer, or no single best one, could be selected; the choices and the flag are listed."""


class ManifestMismatchError(PluginError):
    """Two processes of one engine do not run the same plugins."""


class LockError(PluginError):
    """A lock file cannot be read or written, or what is installed here is not what it says.

    Attributes:
        drift: What differs and of what, e.g. ``("changed version", "platform-cpu")``; empty: the file itself is wrong.
    """

    def __init__(self, message: str, *, drift: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.drift = tuple(drift)


class SealedRegistryError(PluginError):
    """Somebody tried to change a registry after start-up."""


class ConfigError(KerneletError, ValueError):
    """An option is unknown, of the wrong type, or does not fit the others."""


class ModelNotFoundError(KerneletError):
    """A model name is neither known to a plugin, nor a folder, nor reachable on a hub."""


class UnsupportedModelError(KerneletError):
    """No installed package serves the model's architecture or one of its features."""


class WeightsError(KerneletError):
    """A checkpoint misses a tensor, holds one that nothing takes, or a shape differs."""


class TokenizerError(KerneletError):
    """The model folder has no usable tokenizer."""


class InsufficientMemoryError(KerneletError):
    """The memory left for the KV cache does not hold one request of the asked length."""


# --- requests ------------------------------------------------------------------------------------


class RequestError(KerneletError, ValueError):
    """Base of the errors that one request gets; nobody else notices them."""


class ParameterError(RequestError):
    """A sampling parameter has the wrong type or is out of range.

    Attributes:
        parameter: Name of the field, e.g. ``"top_p"``.
    """

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(f"{parameter}: {message}")
        self.parameter = parameter
        self._message = message

    def __reduce__(self) -> tuple[type[ParameterError], tuple[str, str]]:
        return type(self), (self.parameter, self._message)


class MalformedConstraintError(ParameterError):
    """What a text is to be held to means nothing, allows no text, or is too large.

    Attributes:
        reason: What is wrong.
        place: Where; empty: with the constraint as a whole.
    """

    def __init__(self, parameter: str, reason: str, place: str = "") -> None:
        super().__init__(parameter, f"{place}: {reason}" if place else reason)
        self.reason = reason
        self.place = place

    def __reduce__(self) -> tuple[type[MalformedConstraintError], tuple[Any, ...]]:
        return type(self), (self.parameter, self.reason, self.place)


class UnenforcedConstraintError(ParameterError):
    """A text cannot be held to a constraint, and is not half held to it.

    Attributes:
        reasons: Each place with its reason, in words.
        refusals: (place, reason) of each part of the constraint that nobody enforces, else of those that the grammar
            engine that was named, or the only one, does not; empty where no part can be named.
    """

    def __init__(self, parameter: str, reasons: Sequence[str], refusals: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(parameter, f"cannot be enforced: {'; '.join(reasons)}")
        self.reasons = tuple(reasons)
        self.refusals = tuple(refusals)

    def __reduce__(self) -> tuple[type[UnenforcedConstraintError], tuple[Any, ...]]:
        return type(self), (self.parameter, self.reasons, self.refusals)


class PromptError(RequestError):
    """The prompt is empty, too long, of the wrong type, or holds an id outside the vocabulary."""


class ChatTemplateError(RequestError):
    """The chat template is missing, failed, or refused the messages."""


class SandboxError(RequestError):
    """What a request asked for was run in a helper process, and that process failed."""


class SandboxTimeoutError(SandboxError):
    """It took too long."""


class SandboxMemoryError(SandboxError):
    """It needs too much memory."""


class SandboxBusyError(SandboxError):
    """Too much of this kind is being worked on; nothing is wrong with the request."""


class SandboxTargetError(SandboxError):
    """What ran in the helper raised something.

    Attributes:
        error: Name of the exception's class.
        text: The exception's own message.
    """

    def __init__(self, message: str, *, error: str = "", text: str = "") -> None:
        super().__init__(message)
        self.error = error
        self.text = text


class RequestFailedError(RequestError):
    """A request was accepted and then failed by itself while it ran.

    Attributes:
        outputs: What was made of all requests of the call, in their order; empty where the call had one request.
    """

    def __init__(self, message: str, *, outputs: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.outputs = tuple(outputs)


class FailedParameterError(ParameterError, RequestFailedError):
    """A request was accepted, and what one of its fields asks for could then not be done.

    Attributes:
        outputs: As of ``RequestFailedError``.
    """

    def __init__(self, parameter: str, message: str, *, outputs: Sequence[Any] = ()) -> None:
        super().__init__(parameter, message)
        self.outputs = tuple(outputs)


class FailedBusyError(SandboxBusyError, RequestFailedError):
    """A request was accepted, and others were being worked on for too long before it came to its turn."""


# --- running -------------------------------------------------------------------------------------


class EngineDeadError(KerneletError):
    """The engine stopped; every request that it held gets this error."""


class EngineDrainingError(EngineDeadError):
    """The engine finishes what it has and takes no new requests; nothing is wrong with it."""
