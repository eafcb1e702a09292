#!/usr/bin/env python3
"""Runs mutated kernels on a GPU and says which of them compute something else. Needs the driver and NumPy only.

    run.py [FOLDER] [--budget SECONDS] [--out results.json]

A worker process owns the GPU and runs mutants one after the other; an error or a hang costs that process, and a new one
goes on with the next mutant. Every mutant runs over three inputs, several times each, and all outputs are compared bit by
bit with the original's.
"""

import argparse
import collections
import ctypes
import json
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

INPUTS = 3
START_LIMIT, MUTANT_LIMIT = 60, 5  # seconds


# The worker.


class Driver:
    """The few calls of the driver that are needed."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def upload(self, pointer, array):
        self.call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))

    def download(self, pointer, array):
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), pointer, ctypes.c_size_t(array.nbytes))


SCALARS = {"i4": ctypes.c_int32, "i8": ctypes.c_int64, "f4": ctypes.c_float, "f8": ctypes.c_double}


def fill(numpy, argument, seed):
    random = numpy.random.default_rng(seed)
    kind, length = argument["type"], argument["length"]
    if argument["fill"] == "normal":
        return random.standard_normal(length).astype(kind)
    if argument["fill"] == "positive":
        return (random.random(length) * 9.5 + 0.5).astype(kind)
    if argument["fill"] == "small":
        return random.integers(-100, 100, length).astype(kind)
    if argument["fill"] == "bits":
        return numpy.frombuffer(random.bytes(length * numpy.dtype(kind).itemsize), dtype=kind).copy()
    raise ValueError(argument["fill"])


class Kernel:
    """A kernel with its inputs on the GPU and the outputs of the original."""

    def __init__(self, numpy, driver, folder, name, launch):
        self.numpy, self.driver, self.launch = numpy, driver, launch
        self.cubin = (folder / f"{name}.cubin").read_bytes()
        self.buffers = {}
        for i, argument in enumerate(launch["arguments"]):
            if "length" in argument:
                size = argument["length"] * numpy.dtype(argument.get("out") or argument["type"]).itemsize
                self.buffers[i] = driver.allocate(size)
        self.inputs = [
            {i: fill(numpy, a, [n, i, len(name)]) for i, a in enumerate(launch["arguments"]) if "fill" in a}
            for n in range(INPUTS)
        ]
        first = self.outputs(self.cubin, 1)
        again = self.outputs(self.cubin, 1)
        if first != again:
            raise RuntimeError(f"{name}: the original gives different results")
        flat = [b"".join(runs[0]) for runs in first]
        if len(set(flat)) < INPUTS or any(not any(f) for f in flat):
            raise RuntimeError(f"{name}: the inputs do not show in the outputs")
        self.reference = [runs[0] for runs in first]

    def outputs(self, cubin, repetitions):
        """The outputs per input and repetition, as bytes."""
        call = self.driver.call
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(module), cubin)
        call("cuModuleGetFunction", ctypes.byref(function), module, self.launch["entry"].encode())
        found = [[self._once(function, n) for _ in range(repetitions)] for n in range(INPUTS)]
        call("cuModuleUnload", module)
        return found

    def _once(self, function, n):
        numpy, values, outs = self.numpy, [], []
        for i, argument in enumerate(self.launch["arguments"]):
            if i in self.buffers:
                if "out" in argument:
                    data = numpy.zeros(argument["length"], argument["out"])
                    outs.append((self.buffers[i], data))
                else:
                    data = self.inputs[n][i]
                self.driver.upload(self.buffers[i], data)
                values.append(self.buffers[i])
            else:
                (kind, per_input), = argument.items()
                values.append(SCALARS[kind](per_input[n]))
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        self.driver.call(
            "cuLaunchKernel", function, *self.launch["grid"], *self.launch["block"], self.launch["shared"], None, pointers, None
        )
        self.driver.call("cuCtxSynchronize")
        for pointer, data in outs:
            self.driver.download(pointer, data)
        return [data.tobytes() for _, data in outs]

    def differs(self, patches, repetitions):
        changed = bytearray(self.cubin)
        for place, word in patches:
            changed[place : place + 16] = bytes.fromhex(word)
        found = self.outputs(bytes(changed), repetitions)
        runs = [run != reference for results, reference in zip(found, self.reference) for run in results]
        return sum(runs), len(runs)


def worker(folder, repetitions):
    """Reads numbers of mutants, one a line; answers each with a line of JSON."""
    import numpy

    manifest = json.loads((folder / "manifest.json").read_text())
    mutants = {m["id"]: m for m in manifest["mutants"]}
    driver, kernels = Driver(), {}
    print("ready", flush=True)
    for line in sys.stdin:
        mutant = mutants[int(line)]
        name = mutant["kernel"]
        try:
            if name not in kernels:
                kernels[name] = Kernel(numpy, driver, folder, name, manifest["kernels"][name])
        except RuntimeError as error:
            print(json.dumps({"broken": str(error)}), flush=True)
            return
        try:
            wrong, runs = kernels[name].differs(mutant["patches"], repetitions)
        except RuntimeError as error:
            # After an error the context is of no use.
            print(json.dumps({"error": str(error)}), flush=True)
            return
        print(json.dumps({"wrong": wrong, "runs": runs}), flush=True)


# The parent.


class Worker:
    """A worker process, and a thread that reads what it prints."""

    def __init__(self, folder, repetitions):
        command = [sys.executable, __file__, str(folder), "--worker", "--repetitions", str(repetitions)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def answer(self, limit):
        """A line, None where the process ended; `queue.Empty` where it took too long."""
        return self.lines.get(timeout=limit)

    def ask(self, number):
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.wait()


class Workers:
    """One worker at work and one that is starting meanwhile: an error costs no start."""

    def __init__(self, folder, repetitions):
        self.new = lambda: Worker(folder, repetitions)
        self.spare, self.current = self.new(), None

    def get(self):
        if self.current is None:
            self.current, self.spare = self.spare, self.new()
            try:
                if self.current.answer(START_LIMIT) is None:
                    raise RuntimeError("the worker did not start: see its message above")
            except queue.Empty:
                raise RuntimeError("the worker took too long to start") from None
        return self.current

    def drop(self):
        self.current.end()
        self.current = None

    def end(self):
        for worker in (self.current, self.spare):
            if worker:
                worker.end()


def judge(answer):
    if "error" in answer:
        return "error", answer["error"]
    return ("wrong" if answer["wrong"] else "same"), f"{answer['wrong']} of {answer['runs']} runs differ"


def in_turn(mutants):
    """One mutant of every kernel after the other, so that a run cut short has seen them all."""
    kernels = collections.defaultdict(list)
    for mutant in mutants:
        kernels[mutant["kernel"]].append(mutant)
    longest = max(map(len, kernels.values()), default=0)
    return [some[i] for i in range(longest) for some in kernels.values() if i < len(some)]


def run_all(workers, mutants, budget):
    """((mutant, verdict, what happened) for all that the time sufficed for, kernels that could not be used)"""
    begin, results, unusable = time.monotonic(), [], {}
    for mutant in in_turn(mutants):
        if time.monotonic() - begin > budget:
            break
        if mutant["kernel"] in unusable:
            continue
        worker = workers.get()
        try:
            worker.ask(mutant["id"])
            line = worker.answer(MUTANT_LIMIT)
            answer = json.loads(line) if line else {"error": "the worker ended"}
        except queue.Empty:
            answer = {"error": "hang"}
        except BrokenPipeError:
            answer = {"error": "the worker ended"}
        if "broken" in answer:
            unusable[mutant["kernel"]] = answer["broken"]
        else:
            results.append((mutant, *judge(answer)))
        if "wrong" not in answer:
            workers.drop()
    return results, unusable


def table(results, key, title):
    groups = collections.defaultdict(collections.Counter)
    for mutant, verdict, _ in results:
        groups[key(mutant)][verdict] += 1
    print(f"\n{title:36} {'mutants':>7} {'wrong':>6} {'error':>6} {'same':>6}")
    for name, counts in [*sorted(groups.items()), ("all", collections.Counter(v for _, v, _ in results))]:
        print(f"{name:36} {sum(counts.values()):7} {counts['wrong']:6} {counts['error']:6} {counts['same']:6}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent)
    parser.add_argument("--budget", type=float, default=330, help="seconds")
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options.folder, options.repetitions)
    manifest = json.loads((options.folder / "manifest.json").read_text())
    begin = time.monotonic()
    workers = Workers(options.folder, options.repetitions)
    try:
        results, unusable = run_all(workers, manifest["mutants"], options.budget)
    finally:
        workers.end()
    for kernel, why in unusable.items():
        print(f"not usable: {kernel}: {why}")
    table(results, lambda m: f"{m['kind']} ({m['rule']})", "kind")
    table(results, lambda m: m["kernel"], "kernel")
    table(results, lambda m: f"{m['rule']} {m['file']} {m['opcode']}", "rule, file, producer")
    errors = collections.Counter(what for _, verdict, what in results if verdict == "error")
    print("\nerrors: " + (", ".join(f"{what} {count}" for what, count in errors.most_common()) or "none"))
    print(f"{len(results)} of {len(manifest['mutants'])} mutants in {time.monotonic() - begin:.0f} s")
    if options.out:
        rows = [{**mutant, "verdict": verdict, "what": what} for mutant, verdict, what in results]
        options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
