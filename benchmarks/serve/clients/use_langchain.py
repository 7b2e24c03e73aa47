"""LangChain's standard tests of its OpenAI chat model: python use_langchain.py URL MODEL FOLDER."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

from checks import arguments, report

TESTS = Path(__file__).with_name("langchain_chat_model.py")


def main() -> None:
    url, model, _ = arguments()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={results}", "-p", "no:cacheprovider", str(TESTS)]
        command += ["-c", os.devnull, "--rootdir", folder, f"--confcutdir={TESTS.parent}", "-o", "asyncio_mode=auto"]
        command += ["-o", "asyncio_default_test_loop_scope=session"]  # its connections outlive a test
        server = {"KERNELET_CLIENT_URL": url, "KERNELET_CLIENT_MODEL": model}
        done = subprocess.run(command, env=os.environ | server, capture_output=True, text=True, check=False)
        if not results.exists():
            raise SystemExit(done.stdout + done.stderr)
        for case in ET.parse(results).iter("testcase"):
            problem = next((child for child in case if child.tag in {"failure", "error", "skipped"}), None)
            result = "passed" if problem is None else {"skipped": "skipped"}.get(problem.tag, "failed")
            report(case.get("name", ""), result, "" if problem is None else problem.get("message", ""))


if __name__ == "__main__":
    main()
