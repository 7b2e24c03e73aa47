"""A plugin is an entry point; this is one without any table of a pyproject.toml."""

from __future__ import annotations

from pathlib import Path

from setuptools import find_packages, setup

setup(
    name="acme-model",
    version="0.1.0",
    description="GPT-2 for Kernelet, without a line of the core's own layers",
    long_description=(Path(__file__).parent / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.11",
    package_dir={"": "src"},
    packages=find_packages("src"),
    package_data={"acme_model": ["py.typed"]},
    install_requires=["kernelet-core>=0.1", "torch>=2.6"],
    extras_require={"testing": ["kernelet-core[testing]", "pytest>=8", "safetensors>=0.4", "transformers>=4.50"]},
    entry_points={
        "kernelet.plugins": ["acme-model = acme_model.plugin"],
        "kernelet.api": ["model = kernelet.contracts.model:v1"],
        "kernelet.conformance": ["acme-model = acme_model.conformance"],
    },
)
