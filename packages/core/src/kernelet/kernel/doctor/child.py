"""A child of the doctor: ``python -m kernelet.kernel.doctor.child JOB ANSWER``."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import msgspec

from kernelet.kernel.doctor import boot, examine, load, selection
from kernelet.kernel.doctor.messages import Answer, Job


def answer(job: Job) -> Answer:
    """Does what the job says."""
    if job.task == "load":
        return load.load(job)
    if job.task == "boot":
        return boot.boot(job)
    if job.task == "select":
        return selection.select(job)
    return examine.examine(job)


def main(arguments: list[str]) -> None:
    """Reads the job, writes the answer, and ends the process whatever threads a plugin may have left."""
    source, destination = map(Path, arguments)
    job = msgspec.json.decode(source.read_bytes(), type=Job)
    sys.path[:] = job.path
    logging.getLogger("kernelet").setLevel(logging.CRITICAL)  # findings say it once, and better
    encoded = msgspec.json.encode(answer(job))
    part = destination.with_suffix(".part")
    part.write_bytes(encoded)
    part.rename(destination)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
