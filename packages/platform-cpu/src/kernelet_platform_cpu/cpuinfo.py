"""What the processor can do, as the kernel reports it."""

from __future__ import annotations

from pathlib import Path

_BFLOAT16 = frozenset({"avx512_bf16", "amx_bf16", "avx_ne_convert", "bf16"})
_SHOWN = (
    "avx2",
    "fma",
    "f16c",
    "avx512f",
    "avx512bw",
    "avx512_vnni",
    "avx_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
    "amx_fp16",
    "asimd",
    "asimddp",
    "asimdhp",
    "bf16",
    "i8mm",
    "sve",
)


def cpu_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Instruction sets of the first processor; empty where the kernel does not tell."""
    for key, value in _lines(cpuinfo):
        if key in {"flags", "Features"}:
            return frozenset(value.split())
    return frozenset()


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name."""
    for key, value in _lines(cpuinfo):
        if key == "model name":
            return value
    return "CPU"


def features(flags: frozenset[str]) -> frozenset[str]:
    """Feature ids that offers may require: ``"cpu"``, ``"flex"`` and the instruction sets that matter to kernels.

    ``"flex"`` is torch's ``flex_attention``.
    """
    return frozenset({"cpu", "flex"} | (flags & set(_SHOWN)))


def dtypes(flags: frozenset[str]) -> tuple[str, ...]:
    """Compute dtypes, best first: 16-bit types lead only where the processor multiplies them itself."""
    if flags & _BFLOAT16:
        return ("bfloat16", "float32", "float16", "float64")
    return ("float32", "float64", "bfloat16", "float16")


def multiplies_bfloat16(flags: frozenset[str]) -> bool:
    """Whether bfloat16 products are an instruction of this processor."""
    return bool(flags & _BFLOAT16)


def code_path(flags: frozenset[str]) -> str:
    """The instruction sets found, for people."""
    found = [name for name in _SHOWN if name in flags]
    return " ".join(found) or "baseline"


def _lines(cpuinfo: Path) -> list[tuple[str, str]]:
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    pairs = (line.partition(":") for line in text.splitlines())
    return [(key.strip(), value.strip()) for key, _, value in pairs]
