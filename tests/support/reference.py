"""Writes or checks what the documentation has from the sources.

python tests/support/reference.py            says what is out of date and which versions must rise
python tests/support/reference.py --write    brings the files up to date; refuses where a version must rise first
python tests/support/reference.py --freeze   the surface as it is now is a release: later changes are held against it
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from api_changes import complaints
from api_surface import SHARED, core_versions, surface
from reference_pages import contracts_page, deprecations_page, faults_page, hooks_page
from workspace import ROOT

API = ROOT / "docs/reference/api.json"
RELEASED = ROOT / "tests/compat/released.json"


def generated() -> dict[Path, str]:
    """Every generated file and its content."""
    versions = core_versions()
    folder = ROOT / "docs/reference"
    pages = {
        API: as_json(surface(versions)),
        folder / "hooks.md": hooks_page(versions),
        ROOT / "docs/deprecations.md": deprecations_page(),
        ROOT / "docs/plugins/faults.md": faults_page(),
    }
    for domain, version in {SHARED: "", **versions}.items():
        pages[folder / f"contracts/{domain}.md"] = contracts_page(domain, version)
    return pages


def as_json(data: dict) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def outdated() -> list[Path]:
    """Files that differ from what the sources say."""
    return [path for path, text in generated().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def missing_bumps() -> list[str]:
    """What ``contracts/versions.py`` must raise, against the surface of the last release."""
    return complaints(json.loads(RELEASED.read_text(encoding="utf-8")), surface(core_versions()))


def main() -> int:
    parser = argparse.ArgumentParser(description="Reference pages and the surface of the contracts.")
    parser.add_argument("--write", action="store_true", help="bring the files up to date")
    parser.add_argument("--freeze", action="store_true", help="record the surface as released")
    options = parser.parse_args()
    lines = missing_bumps() if RELEASED.exists() else []
    if not lines and options.write:
        for path, text in generated().items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if not lines and options.freeze:
        RELEASED.write_text(as_json(surface(core_versions())), encoding="utf-8")
    lines += [f"{path.relative_to(ROOT)} is out of date: hatch run api" for path in outdated()]
    print("\n".join(lines), end="\n" if lines else "", file=sys.stderr)
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
