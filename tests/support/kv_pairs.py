"""Two engines in processes of their own, one prefills and one decodes, and what may happen to them on the way."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from tiny_models import full

PATIENCE = 180
BLOCK = 16
CONTEXT = 256
"""Tokens of the longest request, which takes the whole pool: a block that leaked would be missed."""
SECONDS = 10
"""Deadline of a load."""
LEASE = 4
"""Seconds after which a lease expires that nobody wants."""
PARTS = 8
TEXTS = (
    "In the year 1869 the first railway across the continent was finished, and people who had walked for months",
    "A recipe for bread: take flour, water, salt and a little of the dough that was left over from the day",
    "The lighthouse keeper wrote down every ship that passed, and in winter",
)
ROOM = {"descriptors": 8, "threads": 8, "maps": 40}
"""By how much a process may grow in hundreds of transfers, of what allocators and pools keep; each leak is more."""


class Engine:
    """A child process; ``answer`` waits for what it says under an id."""

    def __init__(self, folder, connector, role, options, settings):
        options = {
            "dtype": "float32",
            "max_model_len": CONTEXT,
            "num_blocks": CONTEXT // BLOCK + 1,
            "block_size": BLOCK,
            "enable_prefix_caching": False,
            "kv_connector": [connector],
            "kv_role": role,
            "kv_load_timeout": SECONDS,
            "set": {"platform-cpu": {"threads": 1}, connector: {"lease": LEASE, **settings}},
            **options,
        }
        self.log = folder / f"{role}.log"
        program = Path(__file__).with_name("kv_engine.py")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, program, json.dumps(options)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._answers = {}
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def tell(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def answer(self, name):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and (self._reader.is_alive() or not self._of(name).empty()):
            with contextlib.suppress(queue.Empty):
                return self._of(name).get(timeout=0.5)
        raise AssertionError(f"no answer to {name}: {self.log.read_text()[-3000:]}")

    def ask(self, name="", **command):
        self.tell(**command)
        return self.answer(name or command["id"])

    def signal(self, number):
        os.kill(self.process.pid, number)

    def end(self):
        """As it should end."""
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0, self.log.read_text()[-3000:]

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _of(self, name):
        with self._lock:
            return self._answers.setdefault(name, queue.Queue())

    def _read(self):
        with contextlib.suppress(ValueError):
            for line in self.process.stdout:
                if line.startswith("{"):
                    told = json.loads(line)
                    self._of(told["id"]).put(told)


class Pair:
    """Both, and what they are asked.

    Args:
        folder: Of what they write.
        connector: Theirs, of a plugin of that name.
        settings: More of it; each part is told of unless they say otherwise.
        options: Of both engines.
    """

    def __init__(self, folder, connector, settings=None, **options):
        options = {"model": os.fspath(options.pop("model", None) or full(folder / "model", vocab_size=212)), **options}
        settings = {"after_part": "__main__:after_part"} if settings is None else settings
        self._make = lambda role: Engine(folder, connector, role, options, settings)
        self._numbers = itertools.count()
        self.prefill, self.decode = self._make("producer"), self._make("consumer")
        try:
            for engine in (self.prefill, self.decode):
                engine.answer("ready")
        except BaseException:
            self.close()
            raise

    def prompt(self, tokens=100):
        number = next(self._numbers)
        return [2 + (number * 37 + index * index * 11 + index * 3) % 200 for index in range(tokens)]

    def hand_over(self, prompt):
        """Prefills; returns ``kv_transfer_params`` of the answer."""
        params = {"do_remote_decode": True, "do_remote_prefill": False}
        name = f"prefill-{next(self._numbers)}"
        told = self.prefill.ask(do="generate", id=name, prompt=prompt, max_tokens=1, params=params)
        assert told["params"]["do_remote_prefill"], told
        return told["params"]

    def start(self, prompt, params=None, max_tokens=8):
        """Begins to decode; returns the id."""
        name = f"decode-{next(self._numbers)}"
        self.decode.tell(do="generate", id=name, prompt=prompt, max_tokens=max_tokens, params=params)
        return name

    def tokens(self, prompt, params=None):
        told = self.decode.answer(self.start(prompt, params))
        assert "error" not in told, told
        return told["tokens"]

    def hits(self):
        return self.decode.ask("stats", do="stats")["hits"]

    def loads(self, prompt=None):
        """A prompt goes over, and its text is that of one engine."""
        prompt = prompt or self.prompt()
        alone, before = self.tokens(prompt), self.hits()
        assert self.tokens(prompt, self.hand_over(prompt)) == alone
        hits = self.hits() - before
        assert hits == len(prompt) - 1, self.decode.log.read_text()[-3000:]

    def fills(self, engine):
        """The engine has all its blocks: a request that needs each of them is served."""
        name = f"whole-{next(self._numbers)}"
        told = engine.ask(do="generate", id=name, prompt=self.prompt(CONTEXT - 2), max_tokens=2)
        assert len(told["tokens"]) == 2, told

    def resources(self):
        """Of each engine."""
        return [engine.ask(do="resources", id="resources") for engine in (self.prefill, self.decode)]

    def fired(self):
        """The signal was sent; else it would be in the next load."""
        assert self.decode.ask("disarmed", do="disarm")["left"] == 0, "the load ended before its part"

    def baseline(self):
        self.fills(self.prefill)
        self.fills(self.decode)

    def restart(self, role):
        """Of an engine that was killed."""
        engine = self._make("producer" if role == "prefill" else "consumer")
        engine.answer("ready")
        setattr(self, role, engine)

    def close(self):
        for engine in (self.prefill, self.decode):
            with contextlib.suppress(ProcessLookupError):
                engine.signal(signal.SIGCONT)
            engine.kill()


def one_loses_its_process(pair, who, part):
    """A process is killed after a part, and started again."""
    prompt = pair.prompt()
    alone, params, victim = pair.tokens(prompt), pair.hand_over(prompt), getattr(pair, who)
    pair.decode.ask("armed", do="arm", part=part, process=victim.process.pid, signal=signal.SIGKILL)
    name = pair.start(prompt, params)
    if who == "prefill":
        assert pair.decode.answer(name)["tokens"] == alone
        pair.fired()
    victim.process.wait(PATIENCE)
    pair.fills(pair.decode if who == "prefill" else pair.prefill)
    victim.kill()
    pair.restart(who)
    pair.loads()
    pair.baseline()


def one_stops(pair, who, part):
    """A process is stopped after a part, beyond the deadline, and goes on then."""
    prompt = pair.prompt()
    alone, params, victim = pair.tokens(prompt), pair.hand_over(prompt), getattr(pair, who)
    pair.decode.ask("armed", do="arm", part=part, process=victim.process.pid, signal=signal.SIGSTOP)
    name = pair.start(prompt, params)
    if who == "prefill":
        assert pair.decode.answer(name)["tokens"] == alone
        victim.signal(signal.SIGCONT)
        pair.fired()
    else:
        is_stopped(victim.process.pid)
        pair.fills(pair.prefill)  # its blocks come back while the reader sleeps
        victim.signal(signal.SIGCONT)
        assert pair.decode.answer(name)["tokens"] == alone
    pair.loads()
    pair.baseline()


def is_stopped(process):
    """Waits until a child has stopped."""
    end = time.monotonic() + PATIENCE
    while os.waitid(os.P_PID, process, os.WSTOPPED | os.WNOHANG) is None:
        assert time.monotonic() < end, "it never stopped"
        time.sleep(0.02)


def texts_are_those_of_one_engine(pair):
    """Of sentences, of which one is decoded while the next is prefilled."""
    alone = [pair.decode.answer(pair.start(text)) for text in TEXTS]
    before = pair.hits()
    names = [pair.start(text, pair.hand_over(text)) for text in TEXTS]
    assert [pair.decode.answer(name)["text"] for name in names] == [each["text"] for each in alone]
    assert pair.hits() - before == sum(len(each["prompt"]) - 1 for each in alone), pair.decode.log.read_text()[-3000:]


def fails_when_the_other_is_gone(pair):
    """With the policy ``fail``: one error, that says what to do, and the next request is served."""
    prompt = pair.prompt()
    params = pair.hand_over(prompt)
    pair.prefill.kill()
    error = pair.decode.answer(pair.start(prompt, params))["error"]
    assert error.startswith("RequestFailedError: ") and "Send it again" in error
    pair.fills(pair.decode)


def waits_for_longer_than_its_lease(pair):
    """Another request has all blocks of the engine that decodes; until it is gone, the one behind it is wanted."""
    prompt = pair.prompt()
    alone, params, hits = pair.tokens(prompt), pair.hand_over(prompt), pair.hits()
    with socket.create_server(("127.0.0.1", 0)) as nowhere:
        place = list(nowhere.getsockname())
        silent = {**params, "remote_num_tokens": CONTEXT - 2, "remote_ranks": [place] * params["tp_size"]}
        silent |= {"remote_host": place[0], "remote_port": place[1]}
        first = pair.start(pair.prompt(CONTEXT - 2), silent, max_tokens=2)
        name = pair.start(prompt, params)
        time.sleep(1.6 * LEASE)
        pair.decode.tell(do="abort", id=first)
        assert pair.decode.answer(name)["tokens"] == alone
    assert pair.decode.answer(first)["reason"] == "abort"
    assert pair.hits() - hits == len(prompt) - 1, pair.decode.log.read_text()[-3000:]
    pair.baseline()


def nothing_is_left_of_aborted_requests(pair, count):
    """After many, each engine has the descriptors, threads and mappings that it had after some."""
    requests_are_aborted(pair, 60)
    before = pair.resources()
    requests_are_aborted(pair, count)
    for old, new in zip(before, pair.resources(), strict=True):
        more = {name: new[name] - old[name] for name in ROOM}
        assert all(more[name] <= ROOM[name] for name in ROOM), more


def requests_are_aborted(pair, count):
    """Each somewhere in its transfer, or before or after; then both engines are as before."""
    names = []
    for index in range(count):
        prompt = pair.prompt()
        name = pair.start(prompt, pair.hand_over(prompt))
        if index % 3:
            time.sleep(index % 7 / 400)
        pair.decode.tell(do="abort", id=name)
        names.append(name)
    ends = {pair.decode.answer(name).get("reason") for name in names}
    assert "abort" in ends <= {"abort", "length"}
    pair.loads()
    pair.baseline()


def ends_well(pair):
    """Both end by themselves, without an error."""
    for engine in (pair.prefill, pair.decode):
        engine.end()
