"""Runs operator_worker.py in several processes; one that dies or falls silent goes on with the operator behind the one that it died of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import cases

WORKER = Path(__file__).with_name("operator_worker.py")
SILENCE = 90  # seconds without a line


def watch(process: subprocess.Popen, out: Path, silence: float, end: float) -> str | None:
    """Waits for a process; says why it had to be ended, if it had."""
    size, since = -1, time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        now = out.stat().st_size if out.exists() else 0
        if now != size:
            size, since = now, time.monotonic()
        why = "the time is over" if time.monotonic() > end else f"silent for {silence:.0f} s" if time.monotonic() - since > silence else None
        if why:
            process.kill()
            process.wait()
            return why
    return None


def shard(command: list[str], out: Path, number: int, of: int, rest: list[str], environment: dict[str, str], end: float, silence: float) -> None:
    """All operators of one shard, in as many processes as it takes."""
    start = 0
    while True:
        with open(out.with_suffix(".err"), "ab") as errors:
            words = [*command, str(out), str(number), str(of), str(start), *rest]
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=errors, stdin=subprocess.DEVNULL, env=environment)
            why = watch(process, out, silence, end)
        records = cases.lines(out) if out.exists() else []
        if any("done" in record for record in records):
            return
        begun = [record for record in records if "begin" in record]
        last = begun[-1] if begun else {"begin": -1, "op": "start"}
        told = records and "dead" in records[-1]
        if not told:
            with open(out, "a") as file:
                file.write(json.dumps({"dead": f"{last['op']}: {why or f'exit status {process.returncode}'}"}) + "\n")
        if last["begin"] < start or time.monotonic() > end:
            return  # it dies before it begins, or there is no time
        start = last["begin"] + 1


def run(out: Path, jobs: int, rest: list[str], extra: dict[str, str], limit: float, command: list[str] | None = None, silence: float = SILENCE) -> None:
    """Runs all operators in `jobs` processes; results go to an empty folder `out`."""
    out.mkdir(parents=True)
    end = time.monotonic() + limit
    environment = os.environ | extra
    command = command or [sys.executable, str(WORKER)]
    threads = [
        threading.Thread(target=shard, args=(command, out / f"{number}.jsonl", number, jobs, rest, environment, end, silence)) for number in range(jobs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
