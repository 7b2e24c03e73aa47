"""``python -m kernelet.cli`` is ``kernelet``."""

from __future__ import annotations

import sys

from kernelet.cli.main import main

sys.exit(main())
