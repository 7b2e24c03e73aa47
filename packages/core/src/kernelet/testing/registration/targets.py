"""What the import strings of a plugin's offers name, held to the classes and signatures of the contracts."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kernelet.contracts.executor import Communicator, Worker
from kernelet.contracts.kv import KVConnectorOffer, WorkerSide
from kernelet.contracts.model import Model, ModelArchitectureOffer
from kernelet.contracts.offer import Offer
from kernelet.contracts.op import Op, OpOffer
from kernelet.contracts.platform import KernelBench, PlatformConfig
from kernelet.contracts.versions import API_VERSIONS, ApiVersion
from kernelet.errors import PluginError
from kernelet.kernel.doctor.interfaces import DoubtError, check_class, check_model, opens_itself
from kernelet.kernel.doctor.trials import INTERFACES
from kernelet.kernel.failure import Contained
from kernelet.kernel.imports import import_string
from kernelet.kernel.kinds import Kind
from kernelet.kernel.offers import IMPORT_STRINGS
from kernelet.kernel.record import Record

CLASSES: Mapping[str, type] = MappingProxyType(
    {"config": PlatformConfig, "worker": Worker, "communicator": Communicator, "kernel_bench": KernelBench}
)
"""What a further import string of an offer names, where that is a class."""

WORKERS: Mapping[type[Offer], type] = MappingProxyType({KVConnectorOffer: WorkerSide})
"""What ``worker`` names where it is not a rank's ``Worker``."""

CALLS: Mapping[str, int] = MappingProxyType({"probe": 0, "describe": 1, "self_check": 1})
"""How many arguments one is given that names a function."""

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def complaints(record: Record, absent: Sequence[str]) -> list[str]:
    """One sentence for each import string that names nothing, or something else than its contract wants.

    Args:
        record: A loaded plugin.
        absent: Modules that need not be here: what cannot be imported for lack of one is not judged.
    """
    found = []
    for kind, offer, _ in record.offers:
        for field in IMPORT_STRINGS:
            if text := getattr(offer, field, ""):
                found += [f"{text} {why}" for why in _complaint(kind, offer, field, text, absent)]
    return found


def _complaint(kind: Kind, offer: Offer, field: str, text: str, absent: Sequence[str]) -> list[str]:
    target: Any = None
    with Contained() as box:
        target = import_string(text)
    if box.failure is not None:
        error = box.failure.error
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in absent:
            return []
        return [f"cannot be imported, as {field} of the {kind.label} {offer.name!r}: {box.failure.reason}"]
    try:
        if field == "target":
            check_target(kind, offer, target)
        elif field in CLASSES:
            check_interface(target, WORKERS.get(kind.offer, Worker) if field == "worker" else CLASSES[field])
        else:
            check_call(target, CALLS[field])
    except PluginError as error:
        return [f"is not what {field} of the {kind.label} {offer.name!r} wants: {error}"]
    return []


def check_target(kind: Kind, offer: Offer, target: Any) -> None:
    """Holds a target to the contract of its kind.

    Raises:
        PluginError: saying what is wrong.
    """
    today = ApiVersion.parse(offer.api).major == API_VERSIONS[kind.domain].major
    if interface := INTERFACES.get(kind.offer):
        check_interface(target, interface, constructor=today)
    elif kind.offer is ModelArchitectureOffer:
        with contextlib.suppress(DoubtError):  # a platform's own worker may run it as it is
            check_model(target, Model)
    elif kind.offer is OpOffer and isinstance(target, type) and issubclass(target, Op):
        check_interface(target, Op)
    elif not callable(target):
        raise PluginError(f"it is a {type(target).__name__}, which cannot be called")


def check_interface(target: Any, interface: type, *, constructor: bool = True) -> None:
    """Holds a class to an abstract class: what it inherits, implements, and how its methods are called.

    Raises:
        PluginError: saying what is wrong.
    """
    check_class(target, interface, constructor=constructor)
    constructor = constructor and not opens_itself(target, interface)
    for name, member in vars(interface).items():
        contract = getattr(member, "__func__", member)
        if not inspect.isfunction(contract) or (name.startswith("_") and (name != "__init__" or not constructor)):
            continue
        implementation = getattr(target, name)
        if implementation is not getattr(interface, name):
            check_names(f"{name}()", parameters(getattr(implementation, "__func__", implementation)), contract)


def check_names(call: str, mine: Sequence[inspect.Parameter], contract: Callable[..., Any]) -> None:
    """Parameters are named as in the contract, as a core may pass them by name.

    Raises:
        PluginError: naming the first that is not.
    """
    wanted = parameters(contract)
    if any(one.kind not in POSITIONAL for one in wanted):
        return  # each implementation has its own
    names = [one.name for one in mine if one.kind in POSITIONAL]
    variable = any(one.kind is one.VAR_POSITIONAL for one in mine)
    for index, parameter in enumerate(wanted[1:], 1):
        if index >= len(names) and variable:
            return
        name = names[index] if index < len(names) else "nothing"
        if name != parameter.name:
            raise PluginError(f"{call} must take the parameter {parameter.name!r} where it takes {name!r}")


def check_call(target: Any, count: int) -> None:
    """Holds a function to the number of its arguments.

    Raises:
        PluginError: it cannot be called so.
    """
    try:
        inspect.signature(target).bind(*([None] * count))
    except TypeError as error:
        raise PluginError(f"it is called with {count} arguments: {error}") from None


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Its parameters, ``self`` included."""
    return list(inspect.signature(function).parameters.values())
