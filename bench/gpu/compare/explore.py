#!/usr/bin/env python3
"""How much is there to gain? A search over legal orders by measured time, on a GPU, for research: nothing of it is used to schedule.

    explore.py --manifest DIR/manifest.json --sassafras BIN --seconds 20 --launches a,b --json OUT [--work DIR]

Cubins and orders are made in DIR, or else in a folder that is gone afterwards.

From the fastest of several policies on, instructions of hot blocks are moved; `sassafras schedule --strategy given` makes the
moved order legal, computes its control fields and verifies it. What is faster by more than the noise stays. The orders that
were found, and a sample of those that were tried with their times, are written.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import manifest
import stats
from driver import CudaError, Driver, Stopwatch
from session import Session, Support, sample

POLICIES = ["tepid", "reuse", "paced", "height", "steady", "balance", "early-loads", "store-lines"]
MEMORY = ("LDG", "STG", "LDS", "STS", "LDGSTS", "MUFU", "ATOM", "RED", "SHFL", "LDSM", "LDC", "BAR", "HMMA", "LD", "ST")


@dataclass
class Block:
    """How deep in loops a block stands, and the opcodes of its instructions as they came."""

    depth: int
    opcodes: list[str]


# By kernel and number of the block.
Orders = dict[tuple[str, int], list[int]]
Blocks = dict[tuple[str, int], Block]


class Maker:
    """Makes cubins of orders."""

    def __init__(self, options: argparse.Namespace, cubin: Path, name: str) -> None:
        self.options, self.cubin, self.name = options, cubin, name
        self.work = options.work / name
        self.work.mkdir(parents=True, exist_ok=True)
        self.made = 0
        self.blocks: Blocks = {}

    def run(self, number: int, arguments: list[str]) -> tuple[bytes, Orders, int] | None:
        out, orders = self.work / f"{number}.cubin", self.work / f"{number}.out"
        command = [str(self.options.sassafras), "schedule", str(self.cubin), *arguments, "-j", "1", "--json"]
        command += ["-o", str(out), "--orders-out", str(orders)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            print(self.name, done.stderr.strip()[:300], flush=True)
            return None
        report = json.loads(done.stdout)["kernels"]
        if any(k["kept"] for k in report):
            return None
        cycles = sum(k["cycles"]["after"] for k in report if k["cycles"])
        return out.read_bytes(), read_orders(orders.read_text(), self.blocks), cycles

    def of(self, orders: Orders) -> tuple[bytes, Orders, int] | None:
        self.made += 1
        number = self.made
        path = self.work / f"{number}.txt"
        path.write_text(write_orders(orders))
        return self.run(number, ["--strategy", "given", "--orders", str(path)])


def read_orders(text: str, blocks: Blocks) -> Orders:
    """What `--orders-out` wrote; what its comments say about blocks goes into `blocks`."""
    found: Orders = {}
    kernel = ""
    for line in text.splitlines():
        if line.startswith("kernel "):
            kernel = line[7:]
        elif line.startswith("# block "):
            head, _, opcodes = line.partition(": ")
            words = head.replace(",", "").split()
            blocks[kernel, int(words[2])] = Block(int(words[5]), opcodes.split())
        else:
            head, _, places = line.partition(":")
            found[kernel, int(head.split()[1])] = list(map(int, places.split()))
    return found


def write_orders(orders: Orders) -> str:
    """What `--orders` reads."""
    text, last = "", None
    for (kernel, block), places in sorted(orders.items()):
        if kernel != last:
            text += f"kernel {kernel}\n"
            last = kernel
        text += f"block {block}: {' '.join(map(str, places))}\n"
    return text


def mutate(rng: random.Random, blocks: Blocks, orders: Orders) -> tuple[Orders, str]:
    """Another order, and what was moved."""
    new = dict(orders)
    said = []
    deepest = max(block.depth for block in blocks.values())
    keys = [key for key, places in orders.items() if len(places) > 3]
    weights = [len(orders[key]) * 8.0 ** (blocks[key].depth - deepest) for key in keys]
    for _ in range(rng.choice([1, 1, 1, 2, 3, 5])):
        key = rng.choices(keys, weights)[0]
        places, opcodes = list(new[key]), blocks[key].opcodes
        n = len(places)
        at = rng.randrange(n)
        if rng.random() < 0.45:
            special = [i for i, place in enumerate(places) if opcodes[place].split(".")[0] in MEMORY]
            if special:
                at = rng.choice(special)
        length = rng.choice([1, 1, 1, 1, 2, 4, 8])
        chunk = places[at : at + length]
        del places[at : at + length]
        reach = rng.choice([4, 16, 64, n])
        to = max(0, min(len(places), at + rng.randint(-reach, reach)))
        places[to:to] = chunk
        new[key] = places
        said.append(f"b{key[1]}: {opcodes[chunk[0]]}@{chunk[0]} x{len(chunk)} {at}->{to}")
    return new, "; ".join(said)


class Timer:
    def __init__(self, driver: Driver, session: Session, launch) -> None:
        self.driver, self.session, self.launch = driver, session, launch
        self.watch = Stopwatch(driver)
        self.shared = max(s.shared for s in launch.sets)
        self.modules = []

    def load(self, cubin: bytes):
        module = self.driver.load(cubin)
        self.modules.append(module)
        return module.function(self.launch.entry, self.shared)

    def drop(self) -> None:
        self.driver.synchronize()
        for module in self.modules:
            self.driver.call("cuModuleUnload", module.handle)
        self.modules.clear()

    def times(self, functions: list, rounds: int) -> list[float]:
        """Medians of ratios to the first."""
        samples = [[] for _ in functions]
        for number in range(rounds):
            for i in stats.rotated(list(range(len(functions))), number):
                samples[i].append(sample(self.session, self.watch, functions[i], self.launch.launches))
        return [median(a / b for a, b in zip(s, samples[0])) for s in samples]


def explore(options: argparse.Namespace, found, name: str, seconds: float) -> dict:
    launch = found.launches[name]
    end = time.monotonic() + seconds
    cubin = options.manifest.parent / launch.cubin
    maker = Maker(options, cubin, name)
    rng = random.Random(options.seed * 1000 + 7)
    driver = Driver()
    support = Support(driver, (found.path.parent / found.support).read_bytes())
    session = Session(driver, support, launch.sets[0])
    timer = Timer(driver, session, launch)
    keep = driver.load(cubin.read_bytes()).function(launch.entry, timer.shared)
    session.run(keep)
    session.keep()
    result: dict = {"launch": name, "starts": {}, "steps": [], "tried": []}
    with ThreadPoolExecutor(16) as pool:
        jobs = [("rebuild", ["--strategy", "original", "--control", "rebuild"])]
        # Orders alone are what is handed on: other registers would be lost with the first move.
        jobs += [(policy, ["--strategy", policy, "--keep-registers"]) for policy in POLICIES]
        made = list(pool.map(lambda job: maker.run(-1 - jobs.index(job), job[1]), jobs))
        starts = [(job, m) for job, m in zip(jobs, made) if m and m[1]]
        functions = [keep] + [timer.load(m[0]) for _, m in starts]
        for _ in range(3):
            sample(session, timer.watch, keep, launch.launches)
        ratios = timer.times(functions, options.rounds)[1:]
        timer.drop()
        for (job, m), ratio in zip(starts, ratios):
            result["starts"][job[0]] = (round(ratio, 4), m[2])
        best = min(range(len(starts)), key=ratios.__getitem__)
        orders, bytes_ = starts[best][1][1], starts[best][1][0]
        result["start"] = starts[best][0][0]
        ratio = ratios[best]
        generations = 0
        while time.monotonic() < end:
            generations += 1
            tries = [mutate(rng, maker.blocks, orders) for _ in range(15)]
            made = list(pool.map(lambda t: maker.of(t[0]), tries))
            good = [(t, m) for t, m in zip(tries, made) if m and m[0] != bytes_]
            if not good:
                continue
            functions = [timer.load(bytes_)] + [timer.load(m[0]) for _, m in good]
            measured = timer.times(functions, options.rounds)[1:]
            for (t, m), r in list(zip(good, measured))[:2]:
                if len(result["tried"]) < 120:
                    result["tried"].append((round(r * ratio, 4), m[2], {f"{k[0]} {k[1]}": v for k, v in m[1].items()}))
            at = min(range(len(good)), key=measured.__getitem__)
            if measured[at] < 0.9993:
                again = timer.times([functions[0], functions[1 + at]], 2 * options.rounds + 1)[1]
                session.run(functions[1 + at])
                wrong = session.differences()
                if wrong:
                    print(name, "WRONG", good[at][0][1], flush=True)
                    result["steps"].append(("WRONG", good[at][0][1]))
                elif again < 0.9995:
                    (_, said), (bytes_, orders, cycles) = good[at]
                    ratio *= again
                    result["steps"].append((round(ratio, 4), cycles, said))
            timer.drop()
    functions = [keep, timer.load(bytes_)]
    result |= {"ratio": timer.times(functions, 21)[1], "generations": generations}
    result["orders"] = {f"{k[0]} {k[1]}": v for k, v in orders.items()}
    return result


def child(options, name, seconds, pipe) -> None:
    try:
        pipe.send(explore(options, manifest.load(options.manifest), name, seconds))
    except CudaError as error:
        pipe.send({"launch": name, "error": str(error)})
    pipe.close()
    os._exit(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--sassafras", type=Path, required=True)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--launches", type=lambda text: text.split(","), help="names, each with =SECONDS if not the default")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="explore-") as folder:
        options.work = options.work or Path(folder)
        return search(options)


def search(options: argparse.Namespace) -> int:
    """Every launch that was asked for, each in a process of its own."""
    found = manifest.load(options.manifest)
    results = []
    for word in options.launches or list(found.launches):
        name, _, seconds = word.partition("=")
        seconds = float(seconds or options.seconds)
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(target=child, args=(options, name, seconds, theirs))
        process.start()
        theirs.close()
        try:
            result = ours.recv() if ours.poll(seconds + 40) else {"launch": name, "error": "hang"}
        except EOFError:
            result = {"launch": name, "error": "ended"}
        process.kill()
        process.join()
        results.append(result)
        starts = sorted(result.get("starts", {}).items(), key=lambda s: s[1][0])[:4]
        print(name, result.get("error") or f"{result['ratio']:.4f}", result.get("generations"), starts, flush=True)
        options.json.write_text(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
