"""An engine in a process of its own, told what to do by lines of JSON: ``python kv_engine.py OPTIONS``."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

ARMED = {}
"""Part after which a signal is sent: {part: (process, signal)}; each once."""


def after_part(transfer, part):
    """What the connector's option ``after_part`` names."""
    if part in ARMED:
        os.kill(*ARMED.pop(part))


def say(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def resources():
    """Descriptors, threads and mappings of this process and its children."""
    mine = Path("/proc/self/task").glob("*/children")
    processes = ["self", *(child for one in mine for child in one.read_text().split())]
    found = {"descriptors": 0, "threads": 0, "maps": 0}
    for process in processes:
        home = Path("/proc") / process
        found["descriptors"] += len(list((home / "fd").iterdir()))
        found["threads"] += len(list((home / "task").iterdir()))
        found["maps"] += len((home / "maps").read_text().splitlines())
    return found


async def generate(llm, command):
    from kernelet import SamplingParams

    prompt = {"prompt" if isinstance(command["prompt"], str) else "prompt_token_ids": command["prompt"]}
    if command.get("params"):
        prompt["kv_transfer_params"] = command["params"]
    sampling = SamplingParams(temperature=0, max_tokens=command["max_tokens"], ignore_eos=True)
    try:
        async for output in llm.generate(prompt, sampling, request_id=command["id"]):
            if output.finished:
                choice = output.outputs[0]
                say(
                    id=command["id"],
                    prompt=output.prompt_token_ids,
                    text=choice.text,
                    tokens=choice.token_ids,
                    reason=str(choice.finish_reason),
                    params=output.kv_transfer_params,
                )
    except Exception as error:  # noqa: BLE001 - whatever it is, the test is told
        say(id=command["id"], error=f"{type(error).__name__}: {error}")


async def obey(llm):
    lines = asyncio.StreamReader(limit=1 << 20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    tasks = set()
    while line := await lines.readline():
        command = json.loads(line)
        match command.pop("do"):
            case "generate":
                task = asyncio.create_task(generate(llm, command))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            case "abort":
                await llm.abort(command["id"])
            case "arm":
                ARMED[command["part"]] = (command["process"], command["signal"])
                say(id="armed")
            case "disarm":
                say(id="disarmed", left=len(ARMED))
                ARMED.clear()
            case "resources":
                say(id="resources", **resources())
            case "stats":
                stats = await llm.stats()
                counted = stats.kv_connectors
                say(id="stats", hits=stats.external_hits, failures=stats.load_failures, connectors=counted)


async def main(model, **options):
    from kernelet import AsyncLLM

    async with await AsyncLLM.create(model, **options) as llm:
        say(id="ready")
        await obey(llm)


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))
