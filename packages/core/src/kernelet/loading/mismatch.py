"""What a checkpoint holds against what a model takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kernelet.loading.mapping import WeightMap

SHOWN = 8
WEIGHT = ".weight"
BIAS = ".bias"

Sources = Mapping[str, Mapping[str, str]]
"""By a target's name, the tensors that fill it: names by their last part, or the one tensor by an empty name."""


def sources_of(weight_map: WeightMap, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The tensors that fill each target from a checkpoint that holds ``names``."""
    targets = weight_map.targets
    free = set(names) - targets.keys()
    found: dict[str, dict[str, str]] = {}
    for name, target in targets.items():
        found[name] = dict(target.weight.piece(target.part).stored(name, free)) or {"": name}
    return found


def mismatch(weight_map: WeightMap, sources: Sources, names: Sequence[str]) -> str:
    """What is missing and what nothing takes, with what may be the reason; empty: nothing."""
    wanted = {name for each in sources.values() for name in each.values()}
    absent = sorted(wanted - set(names))
    unknown = [name for name in names if name not in wanted and not weight_map.is_ignored(name)]
    if unknown:
        differs = f"nothing takes {listed(unknown)}" + (f"; missing are {listed(absent)}" if absent else "")
        if reason := _reason(sources, absent, unknown):
            return f"{reason}: {differs}"
        return f"{differs}; the checkpoint is of another architecture or version"
    return f"the checkpoint misses {listed(absent)}; fetch the model again" if absent else ""


def _reason(sources: Sources, absent: Iterable[str], unknown: Sequence[str]) -> str:
    """Why a module has other tensors than were expected, where quantization is why."""
    for name in absent:
        if name not in sources:
            continue
        module = name.removesuffix(WEIGHT)
        if module != name and (has := [one.removeprefix(f"{module}.") for one in unknown if _is_of(one, module)]):
            return (
                f"{module} has {', '.join(has)} in the place of weight: it is quantized, and nothing says how. "
                f"config.json needs a quantization_config, or its list of unquantized modules names too many"
            )
    for name, each in sources.items():
        if name in unknown and "" not in each:
            return (
                f"{name} is unquantized, and {', '.join(each)} are expected in its place: quantization_config does not "
                f"name its module among those that are left as they are"
            )
    return ""


def _is_of(name: str, module: str) -> bool:
    return name.startswith(f"{module}.") and "." not in name[len(module) + 1 :]


def listed(names: Sequence[str]) -> str:
    """Names for people, the first few of many."""
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
