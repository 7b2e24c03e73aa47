"""The part that pyproject.toml cannot say: a library in C++.

It uses torch's stable ABI only and nothing of Python, so one wheel serves every Python and every torch from 2.10 on.
``torch.utils.cpp_extension.CppExtension`` would do as well; it imports torch twice for each build.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from setuptools import Extension, setup

OLDEST_TORCH = "0x020a000000000000"


def torch_folder() -> Path:
    """Where torch is installed, with its headers and libraries."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        message = "acme-platform is built against torch: pip install torch, then build with --no-build-isolation"
        raise SystemExit(message)
    return Path(spec.origin).parent


TORCH = torch_folder()

setup(
    ext_modules=[
        Extension(
            "acme_platform.kernels",
            ["csrc/act_and_mul.cpp"],
            include_dirs=[str(TORCH / "include")],
            library_dirs=[str(TORCH / "lib")],
            libraries=["torch_cpu"],
            define_macros=[("TORCH_TARGET_VERSION", OLDEST_TORCH)],
            extra_compile_args=["-std=c++17", "-O2", "-g0"],
            language="c++",
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
