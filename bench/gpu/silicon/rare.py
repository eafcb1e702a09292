#!/usr/bin/env python3
"""Kernels full of rare instructions: rescheduled, run on a GPU, and compared bit by bit with what the compiler made.

    rare.py build   --out DIR --nvcc NVCC
    rare.py opcodes --cubins DIR --nvdisasm NVDISASM
    rare.py run     --cubins DIR --sassafras BIN --out RESULT.json
    rare.py habits  --cubins DIR --sassafras BIN
    rare.py check   ORIGINAL CANDIDATE
    rare.py blame   --cubins DIR --sassafras BIN --result RESULT.json

`run` and `check` need the driver and nothing else, `build`, `opcodes` and `habits` no GPU. See README.md.
"""

import argparse
import array
import collections
import concurrent.futures
import ctypes
import json
import os
import queue
import random
import re
import shlex
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from modes import flags

HERE = Path(__file__).resolve().parent
WORDS = 1 << 20  # of the input and of the output
INPUTS = 2  # different ones in turn, so that what a launch left behind is wrong for the next
BUILDS = {"O3": ["-O3"], "O1": ["-O1"], "r32": ["-O3", "-maxrregcount=32"]}
MODES = "rebuild,default,reverse,shuffle1,shuffle2,shuffle3,height,early-loads"
START_LIMIT = 90  # seconds
# Sizes and boxes of tensor maps, as they stand from the end of the input: 1024 rows of 1024 words, and the same words in other dimensions.
TENSORS = (
    ((1024, 1024), (32, 8)),
    ((1 << 20,), (256,)),
    ((256, 64, 64), (32, 4, 2)),
    ((64, 64, 16, 16), (16, 4, 2, 2)),
    ((32, 32, 16, 8, 8), (8, 4, 2, 2, 2)),
)
FLOATS = {"half": ("e", 2), "float": ("f", 4), "double": ("d", 8)}  # how they are packed, and their bytes
BAD = ("different", "error", "hang", "schedule-failed", "unstable")


# Kernels and how they are launched.


def header(source):
    """What the comments at the top of a kernel say."""
    launch = {"grid": [8], "block": [256], "smem": 0, "arch": "sm_90", "input": "random", "registers": True, "tensormap": False, "texture": False}
    lines = source.splitlines()
    if not lines or not lines[0].startswith("//"):
        raise ValueError("the first line does not say what it is for")
    launch["what"] = lines[0][2:].strip()
    for line in lines[1:]:
        if not line.startswith("//"):
            break
        key, colon, value = line[2:].strip().partition(":")
        value = value.strip()
        if key == "launch":
            for pair in value.split():
                name, number = pair.split("=")
                if name in ("grid", "block"):
                    launch[name] = [int(part) for part in number.split("x")]
                elif name == "smem":
                    launch[name] = int(number)
                elif name != "cluster":  # it is in the code
                    raise ValueError(f"unknown key {name}")
        elif key in ("arch", "input"):
            launch[key] = value
        elif key in ("registers", "tensormap", "texture"):
            launch[key] = value != "no"
    if launch["input"] not in ("random", "small", *FLOATS):
        raise ValueError(f"unknown input {launch['input']}")
    for name in ("grid", "block"):
        launch[name] = (launch[name] + [1, 1])[:3]
    return launch


def sources(only):
    found = sorted((HERE / "kernels").glob("*.cu"))
    return [path for path in found if not only or re.search(only, path.stem)]


def cubins(folder, only):
    """(kernel, build, path) of all that were built."""
    launches = json.loads((folder / "launches.json").read_text())
    found = []
    for name in sorted(launches):
        for build in BUILDS:
            path = folder / f"{name}.{build}.cubin"
            if path.exists() and (not only or re.search(only, f"{name}.{build}")):
                found.append((name, build, path))
    return launches, found


def launch_of(cubin):
    """How a cubin that `build` made is launched."""
    return json.loads((cubin.parent / "launches.json").read_text())[cubin.name.split(".")[0]]


def words(folder, kind, number):
    """An input, the same in every process: made once, then read from a file."""
    path = folder / f"{kind}.{number}.input"
    if not path.exists():
        source = random.Random(f"{kind} {number}")
        if kind in FLOATS:
            code, size = FLOATS[kind]
            count = 4 * WORDS // size
            made = struct.pack(f"<{count}{code}", *(source.uniform(-4, 4) for _ in range(count)))
        else:
            made = source.randbytes(4 * WORDS)
            if kind == "small":
                made = array.array("I", (word % 251 for word in memoryview(made).cast("I"))).tobytes()
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(made)
        part.rename(path)
    return path.read_bytes()


# build


def command(words, limit=300):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=limit)
    return done.returncode, (done.stdout + done.stderr).strip()


def build_one(source, launch, nvcc, ptxas, folder):
    """The messages of the compilers; a failure ends with an exception."""
    name, messages = source.stem, []
    ptx = folder / f"{name}.ptx"
    steps = [[nvcc, "-O3", "-std=c++17", f"-arch={launch['arch']}", "-ptx", source, "-o", ptx]]
    for build, flags in BUILDS.items():
        target = folder / f"{name}.{build}.cubin"
        target.unlink(missing_ok=True)
        if build != "r32" or launch["registers"]:
            steps.append([ptxas, f"-arch={launch['arch']}", *flags, ptx, "-o", target])
    for step in steps:
        status, text = command(step)
        if status:
            raise RuntimeError(f"{name}: {shlex.join(map(str, step))}\n{text}")
        if text:
            messages.append(f"{name}: {text}")
    ptx.unlink()
    return messages


def build(options):
    folder = options.out
    folder.mkdir(parents=True, exist_ok=True)
    ptxas = Path(options.nvcc).parent / "ptxas" if os.sep in options.nvcc else Path("ptxas")
    launches, failed = {}, 0
    for source in sources(None):
        launches[source.stem] = header(source.read_text())
    (folder / "launches.json").write_text(json.dumps(launches, indent=1))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(build_one, source, launches[source.stem], options.nvcc, ptxas, folder) for source in sources(options.only)]
        for job in jobs:
            try:
                for message in job.result():
                    print(message)
            except RuntimeError as error:
                failed += 1
                print(f"failed: {error}")
    print(f"{len(jobs) - failed} of {len(jobs)} kernels built, {len(list(folder.glob('*.cubin')))} cubins")
    return failed != 0


# opcodes


def opcodes(options):
    """What each kernel really holds, and what its first line promises but the code has not."""
    launches, found = cubins(options.cubins, options.only)
    kernels = collections.defaultdict(list)
    for name, build_name, path in found:
        if build_name in options.builds.split(","):
            kernels[name].append(path)
    missing = 0
    for name, paths in kernels.items():
        text = "".join(command([options.nvdisasm, "-c", path])[1] for path in paths)
        held = {o.rstrip(".") for o in re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+\{?\s*(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", text, re.M)}
        held |= set(re.findall(r"\b(SR_\w+)", text))
        promised = re.findall(r"(?<!\.)\b(?:SR_\w+|[A-Z][A-Za-z0-9_]*[A-Z0-9](?:\.\w+)*)", launches[name]["what"].rpartition(":")[2])
        lacks = [word for word in promised if not any(match(word, opcode) for opcode in held)]
        missing += len(lacks)
        if options.all:
            print(f"{name}: {' '.join(sorted(held))}")
        if lacks:
            print(f"{name} lacks {' '.join(lacks)}")
    print(f"{len(kernels)} kernels, {missing} opcodes promised and not found")
    return missing != 0


def match(word, opcode):
    """Whether an opcode begins as a word says, with other parts between or not."""
    have, want = opcode.split("."), word.split(".")
    return have[0] == want[0] and all(part in have for part in want)


# habits


def stalls(options, path):
    """(opcode, stall) of every instruction."""
    status, text = command([options.sassafras, "disasm", path, "--json"])
    if status:
        raise RuntimeError(text)
    found = []
    for kernel in json.loads(text)["kernels"]:
        for function in kernel["functions"]:
            for instruction in function["instructions"]:
                words = instruction["text"].split()
                found.append((words[words[0].startswith("@")], instruction["control"]["stall"]))
    return found


def habits(options):
    """Neighbours that the compiler always keeps further apart than rebuilt control fields do, in the same order."""
    options.work = options.cubins / "habits"
    options.work.mkdir(exist_ok=True)
    pairs = collections.defaultdict(lambda: ([], []))
    _, found = cubins(options.cubins, options.only)
    for _, _, path in found:
        target, _ = schedule(options, path, "rebuild")
        if target is None:
            continue
        both = stalls(options, path), stalls(options, target)
        for side, code in enumerate(both):
            for (first, stall), (second, _) in zip(code, code[1:]):
                pairs[first, second][side].append(stall)
                pairs[first, "anything"][side].append(stall)
    print(f"{'first':36} {'then':36} {'pairs':>6} {'compiler':>9} {'rebuilt':>8}")
    for (first, second), (before, after) in sorted(pairs.items()):
        if len(before) >= options.least and min(before) > max(min(after), 2):
            print(f"{first:36} {second:36} {len(before):6} {min(before):9} {min(after):8}")


# The GPU, in a worker process.


class CopyPart(ctypes.Structure):
    """One side of CUDA_MEMCPY2D."""

    _fields_ = [
        ("x", ctypes.c_size_t), ("y", ctypes.c_size_t), ("kind", ctypes.c_int), ("host", ctypes.c_void_p), ("device", ctypes.c_uint64),
        ("array", ctypes.c_void_p), ("pitch", ctypes.c_size_t),
    ]  # fmt: skip


class Copy(ctypes.Structure):
    """CUDA_MEMCPY2D."""

    _fields_ = [("source", CopyPart), ("target", CopyPart), ("width", ctypes.c_size_t), ("height", ctypes.c_size_t)]


class ArrayDescriptor(ctypes.Structure):
    """CUDA_ARRAY3D_DESCRIPTOR."""

    _fields_ = [
        ("width", ctypes.c_size_t), ("height", ctypes.c_size_t), ("depth", ctypes.c_size_t), ("format", ctypes.c_int), ("channels", ctypes.c_uint),
        ("flags", ctypes.c_uint),
    ]  # fmt: skip


class Resource(ctypes.Structure):
    """CUDA_RESOURCE_DESC: an array, or words in a line."""

    class Union(ctypes.Union):
        class Line(ctypes.Structure):
            _fields_ = [("pointer", ctypes.c_uint64), ("format", ctypes.c_int), ("channels", ctypes.c_uint), ("bytes", ctypes.c_size_t)]

        _fields_ = [("array", ctypes.c_void_p), ("line", Line), ("reserved", ctypes.c_int * 32)]

    _fields_ = [("kind", ctypes.c_int), ("of", Union), ("flags", ctypes.c_uint)]


class Sampling(ctypes.Structure):
    """CUDA_TEXTURE_DESC."""

    _fields_ = [
        ("address", ctypes.c_int * 3), ("filter", ctypes.c_int), ("flags", ctypes.c_uint), ("anisotropy", ctypes.c_uint), ("level_filter", ctypes.c_int),
        ("level_bias", ctypes.c_float), ("least_level", ctypes.c_float), ("most_level", ctypes.c_float), ("border", ctypes.c_float * 4),
        ("reserved", ctypes.c_int * 12),
    ]  # fmt: skip


class Textures:
    """A line of half of the input, an image of all of it, the same as a surface, and a surface that becomes the last quarter of the output."""

    UNSIGNED32, CLAMP, AS_INTEGERS = 3, 1, 1
    LINE, ARRAY = 2, 0  # kinds of resources
    DEVICE_MEMORY, ARRAY_MEMORY = 2, 3
    SURFACE, GATHER = 2, 8  # flags of arrays

    def __init__(self, driver):
        self.driver = driver
        self.image, self.target = self.array(1024, self.SURFACE | self.GATHER), self.array(256, self.SURFACE)
        line = Resource(kind=self.LINE)
        line.of.line.pointer, line.of.line.format = driver.input.value, self.UNSIGNED32
        line.of.line.channels, line.of.line.bytes = 1, 2 * WORDS
        image, target = Resource(kind=self.ARRAY), Resource(kind=self.ARRAY)
        image.of.array, target.of.array = self.image, self.target
        sampling = Sampling(flags=self.AS_INTEGERS)
        sampling.address[:] = [self.CLAMP] * 3
        self.handles = []
        for resource in (line, image):
            self.handle("cuTexObjectCreate", ctypes.byref(resource), ctypes.byref(sampling), None)
        for resource in (image, target):
            self.handle("cuSurfObjectCreate", ctypes.byref(resource))

    def array(self, height, flags):
        made, wanted = ctypes.c_void_p(), ArrayDescriptor(1024, height, 0, self.UNSIGNED32, 1, flags)
        self.driver.call("cuArray3DCreate_v2", ctypes.byref(made), ctypes.byref(wanted))
        return made

    def handle(self, call, *arguments):
        made = ctypes.c_uint64()
        self.driver.call(call, ctypes.byref(made), *arguments)
        self.handles.append(made.value)

    def memory(self, pointer, row):
        return CopyPart(y=row, kind=self.DEVICE_MEMORY, device=pointer.value, pitch=4096)

    def copy(self, source, target, height):
        self.driver.call("cuMemcpy2D_v2", ctypes.byref(Copy(source, target, 4096, height)))

    def before(self):
        """Input into the image, zeros into the target."""
        self.copy(self.memory(self.driver.input, 0), CopyPart(kind=self.ARRAY_MEMORY, array=self.image), 1024)
        self.copy(self.memory(self.driver.output, 768), CopyPart(kind=self.ARRAY_MEMORY, array=self.target), 256)

    def after(self):
        """The target into the output."""
        self.copy(CopyPart(kind=self.ARRAY_MEMORY, array=self.target), self.memory(self.driver.output, 768), 256)


class Driver:
    """The few calls of the driver that are needed."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuCtxSetLimit", 0, ctypes.c_size_t(4096))  # the stack of a thread
        self.input, self.output = self.allocate(), self.allocate()
        self.textures = None  # made when a kernel wants them
        self.inputs, self.result = {}, ctypes.create_string_buffer(4 * WORDS)

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def allocate(self):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(4 * WORDS))
        return pointer

    def words(self, folder, launch, number):
        """The input of a launch, with tensor maps or handles of textures at its end where they are asked for."""
        key = launch["input"], number, launch["tensormap"], launch["texture"]
        if key not in self.inputs:
            made = words(folder, *key[:2])
            if launch["tensormap"]:
                maps = b"".join(self.tensor_map(pointer, *box) for box in reversed(TENSORS) for pointer in (self.input, self.output))
                made = made[: -len(maps)] + maps
            if launch["texture"]:
                self.textures = self.textures or Textures(self)
                handles = struct.pack("<4Q", *self.textures.handles)
                made = made[: -len(handles)] + handles
            self.inputs[key] = made
        return self.inputs[key]

    def tensor_map(self, pointer, sizes, box):
        """Of all words, in boxes of 256."""
        space = ctypes.create_string_buffer(192)
        place = (ctypes.addressof(space) + 63) & ~63
        rank, strides = len(sizes), [4]
        for size in sizes[:-1]:
            strides.append(strides[-1] * size)
        unsigned32, numbers = 2, ctypes.c_uint32 * rank
        self.call(
            "cuTensorMapEncodeTiled", ctypes.c_void_p(place), unsigned32, rank, ctypes.c_void_p(pointer.value), (ctypes.c_uint64 * rank)(*sizes),
            (ctypes.c_uint64 * rank)(*strides[1:]), numbers(*box), numbers(*[1] * rank), 0, 0, 0, 0,
        )  # fmt: skip
        return ctypes.string_at(place, 128)

    def outputs(self, path, folder, launch, rounds):
        """The outputs of `rounds` launches over each input in turn, as bytes."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), Path(path).read_bytes())
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"kernel")
        if launch["smem"] > 48 << 10:
            self.call("cuFuncSetAttribute", function, 8, launch["smem"])
        size, found = ctypes.c_size_t(4 * WORDS), []
        arguments = self.input, self.output, ctypes.c_uint32(WORDS)
        pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(argument) for argument in arguments))
        for turn in range(rounds * INPUTS):
            self.call("cuMemcpyHtoD_v2", self.input, self.words(folder, launch, turn % INPUTS), size)
            self.call("cuMemsetD32_v2", self.output, 0, ctypes.c_size_t(WORDS))
            if launch["texture"]:
                self.textures.before()
            self.call("cuLaunchKernel", function, *launch["grid"], *launch["block"], launch["smem"], None, pointers, None)
            self.call("cuCtxSynchronize")
            if launch["texture"]:
                self.textures.after()
            self.call("cuMemcpyDtoH_v2", self.result, self.output, size)
            found.append(self.result.raw)
        self.call("cuModuleUnload", module)
        return found

    def compare(self, found, reference):
        """A word on how outputs differ from those of the original, or None."""
        wrong = [turn for turn, output in enumerate(found) if output != reference[turn % INPUTS]]
        if not wrong:
            return None
        got, want = (memoryview(output).cast("I") for output in (found[wrong[0]], reference[wrong[0] % INPUTS]))
        places = [place for place in range(WORDS) if got[place] != want[place]]
        first = places[0]
        return f"{len(wrong)} of {len(found)} launches, {len(places)} words, first {first}: {got[first]:08x} for {want[first]:08x}"

    def original(self, path, folder, launch):
        """(the reference, what is wrong with it or None)"""
        found = self.outputs(path, folder, launch, 2)
        reference = found[:INPUTS]
        problem = self.compare(found, reference)
        if not problem and (len(set(reference)) < INPUTS or not all(any(output) for output in reference)):
            problem = "the inputs do not show in the outputs"
        return reference, problem


def worker(rounds):
    """Reads tasks, one a line: a cubin, its launch and rescheduled ones; answers with a line each."""
    driver = Driver()

    def say(mode, status, note=""):
        print(json.dumps([mode, status, note]), flush=True)

    print("ready", flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        mode, launch, folder = "original", task["launch"], Path(task["original"]).parent
        try:
            reference, problem = driver.original(task["original"], folder, launch)
            say(mode, "unstable" if problem else "equal", problem or "")
            if problem:
                continue
            for mode, path in task["files"]:
                note = driver.compare(driver.outputs(path, folder, launch, rounds), reference)
                say(mode, "different" if note else "equal", note or "")
        except RuntimeError as error:
            say(mode, "error", str(error))
            return  # the context is of no use now


# run


class Worker:
    """A worker process, and a thread that reads what it prints."""

    def __init__(self, rounds):
        words = [sys.executable, __file__, "worker", "--rounds", str(rounds)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines, self.errors = queue.Queue(), collections.deque(maxlen=3)
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()
        if self.answer(START_LIMIT) != "ready\n":
            self.end()
            raise RuntimeError(f"a worker did not start: {' '.join(self.errors)}")

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line.strip())

    def answer(self, limit):
        """A line; None where the process ended; an empty one where it took too long."""
        try:
            return self.lines.get(timeout=limit)
        except queue.Empty:
            return ""

    def ask(self, task):
        try:
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended; the answer will say so

    def end(self):
        self.process.kill()
        threading.Thread(target=self.process.wait, daemon=True).start()  # the driver may need a while


class Lane:
    """One worker after the other, for the tasks of one thread."""

    def __init__(self, rounds, limit):
        self.rounds, self.limit, self.worker = rounds, limit, None

    def drop(self):
        if self.worker:
            self.worker.end()
        self.worker = None

    def judge(self, original, launch, files):
        """{mode: (status, note)}; the original too."""
        verdicts, left = {}, list(files)
        while True:
            if self.worker is None:
                self.worker = Worker(self.rounds)
            self.worker.ask({"original": str(original), "launch": launch, "files": left})
            expected = ["original", *(mode for mode, _ in left)]
            for mode in expected:
                line = self.worker.answer(self.limit)
                if not line:
                    verdicts[mode] = ("hang", "") if line == "" else ("error", f"the worker ended {' '.join(self.worker.errors)}")
                    self.drop()
                else:
                    said, status, note = json.loads(line)
                    verdicts[said] = status, note
                    if status == "error":
                        self.drop()
                if verdicts[mode][0] != "equal":
                    break
            if verdicts["original"][0] != "equal" or self.worker is not None and mode == expected[-1]:
                return verdicts
            # Some kernel failed: the rest gets a process of its own.
            self.drop()
            left = [(m, path) for m, path in left if m not in verdicts]
            if not left:
                return verdicts


def schedule(options, original, mode):
    """(the rescheduled cubin or None, a note)"""
    target = options.work / f"{original.stem}.{mode}.cubin"
    target.unlink(missing_ok=True)
    words = [options.sassafras, "schedule", "-j", "1", original, "-o", target, *flags(mode), *shlex.split(options.extra)]
    try:
        status, text = command(words, options.schedule_limit)
    except subprocess.TimeoutExpired:
        return None, f"took more than {options.schedule_limit} s"
    if status or not target.exists():
        return None, text[-400:] or f"exit status {status}"
    row = re.search(r"^ kernel +sm_\S+ .*$", text, re.M)
    return target, " ".join(row[0].split()) if row else ""


def run_one(options, lane, launch, name, build_name, original):
    rows, files = [], []

    def add(mode, status, note):
        rows.append({"kernel": name, "build": build_name, "mode": mode, "status": status, "note": note})

    notes, code = {}, original.read_bytes()
    for mode in options.modes.split(","):
        target, note = schedule(options, original, mode)
        notes[mode] = note
        if target is None:
            add(mode, "schedule-failed", note)
        elif target.read_bytes() == code:
            add(mode, "same", note)
        else:
            files.append((mode, str(target)))
    if options.dry:
        for mode, _ in files:
            add(mode, "scheduled", notes[mode])
        return rows
    if not files:
        return rows
    verdicts = lane.judge(original, launch, files)
    if verdicts["original"][0] != "equal":
        status, note = verdicts["original"]
        add("original", "unstable", f"{status}: {note}")
        return rows
    paths = dict(files)
    for mode, (status, note) in verdicts.items():
        if status == "different":
            # Once more in a process of its own: what ran before may have left damage.
            lane.drop()
            again, text = lane.judge(original, launch, [(mode, paths[mode])]).get(mode, ("?", ""))
            note += f"; alone {again} {text}".rstrip()
            lane.drop()
        if mode != "original":
            add(mode, status, note)
    return rows


def run(options):
    begin = time.monotonic()
    launches, found = cubins(options.cubins, options.only)
    options.work = options.work or options.cubins / "scheduled"
    options.work.mkdir(parents=True, exist_ok=True)
    tasks, rows, problems, lock = queue.Queue(), [], [], threading.Lock()
    for task in found:
        tasks.put(task)
    if not options.dry:
        for kind in {launches[name]["input"] for name, _, _ in found}:
            for number in range(INPUTS):
                words(options.cubins, kind, number)

    def work():
        lane = Lane(options.rounds, options.timeout)
        while True:
            try:
                name, build_name, path = tasks.get_nowait()
            except queue.Empty:
                break
            try:
                made = run_one(options, lane, launches[name], name, build_name, path)
            except Exception as error:  # one cubin must not cost the others
                made = []
                problems.append(f"{name}.{build_name}: {error}")
                lane.drop()
                if len(problems) > 20:
                    break
            with lock:
                rows.extend(made)
                for row in made:
                    if row["status"] in BAD:
                        print(f"{row['kernel']}.{row['build']} {row['mode']}: {row['status']} {row['note']}", flush=True)
        lane.drop()

    threads = [threading.Thread(target=work) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows.sort(key=lambda row: (row["kernel"], row["build"], row["mode"]))
    options.out.write_text(json.dumps(rows, indent=1))
    report(rows, problems)
    print(f"{time.monotonic() - begin:.0f} s")
    return any(row["status"] in BAD for row in rows) or bool(problems)


def report(rows, problems):
    """A table of all that is not as it should be, and the summary."""
    groups = collections.defaultdict(list)
    for row in rows:
        if row["status"] in BAD:
            groups[row["kernel"], row["status"]].append(f"{row['build']}.{row['mode']}")
    for text in problems:
        print(f"could not be run: {text}")
    if groups:
        print(f"\n{'kernel':24} {'status':16} builds and modes")
    for (kernel, status), where in sorted(groups.items()):
        print(f"{kernel:24} {status:16} {' '.join(where)}")
    kept = collections.Counter(row["note"].partition("kept: ")[2] or row["note"] for row in rows if row["mode"] == "reverse" and row["status"] == "same")
    if kept:
        print("\nleft as they were by reverse:")
        for note, count in kept.most_common(10):
            print(f"{count:5} {note}")
    count = collections.Counter(row["status"] for row in rows)
    print(
        f"\n{count['equal']} equal, {count['different']} different, {count['error']} errors, {count['hang']} hangs of {len(rows)} runs"
        f" ({count['same']} same code, {count['scheduled']} not run, {count['schedule-failed']} not scheduled, {count['unstable']} originals unstable)"
    )


# check and blame


def check(options):
    driver = Driver()
    launch = launch_of(options.original)
    folder = options.original.parent
    reference, problem = driver.original(options.original, folder, launch)
    if problem:
        print(f"original: {problem}")
        return 2
    note = driver.compare(driver.outputs(options.candidate, folder, launch, options.rounds), reference)
    print(note or "equal")
    return 1 if note else 0


def blame_one(options, row):
    original = (options.cubins / f"{row['kernel']}.{row['build']}.cubin").resolve()
    words = [options.sassafras, "bisect", original, "-j", "1", "--timeout", options.timeout, *flags(row["mode"]), *shlex.split(options.extra)]
    words += ["--", sys.executable, Path(__file__).resolve(), "check", "--rounds", options.rounds, original]
    try:
        status, text = command(words, options.limit)
    except subprocess.TimeoutExpired:
        return f"took more than {options.limit} s"
    return f"exit status {status}\n{text}"


def blame(options):
    rows = [row for row in json.loads(options.result.read_text()) if row["status"] in ("different", "error", "hang")]
    rows = [row for row in rows if not options.only or re.search(options.only, f"{row['kernel']}.{row['build']}.{row['mode']}")]
    if not options.every:  # one mode of each kernel and build
        rows = list({(row["kernel"], row["build"]): row for row in rows}.values())
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row, text in zip(rows, pool.map(lambda row: blame_one(options, row), rows)):
            print(f"=== {row['kernel']}.{row['build']} {row['mode']}: {row['status']} {row['note']}\n{text}\n", flush=True)
    print(f"{len(rows)} blamed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)

    def verb(name, does, text):
        made = verbs.add_parser(name, help=text)
        made.set_defaults(does=does)
        return made

    p = verb("build", build, "compile all kernels")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--nvcc", default="nvcc", help="ptxas is taken from beside it")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--only", help="a regular expression for names")
    p = verb("opcodes", opcodes, "compare first lines with the code")
    p.add_argument("--cubins", type=Path, required=True)
    p.add_argument("--nvdisasm", default="nvdisasm")
    p.add_argument("--all", action="store_true", help="print all opcodes of each kernel")
    p.add_argument("--builds", default="O3", help="of these")
    p.add_argument("--only", help="a regular expression for NAME.BUILD")
    p = verb("run", run, "reschedule, run and compare")
    p.add_argument("--cubins", type=Path, required=True)
    p.add_argument("--sassafras", required=True)
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--modes", default=MODES, help="rebuild, default, serial, shuffleN or the name of a strategy")
    p.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    p.add_argument("--extra", default="", help="more options for sassafras")
    p.add_argument("--only", help="a regular expression for NAME.BUILD")
    p.add_argument("--work", type=Path, help="where rescheduled cubins go [default: scheduled/ beside the originals]")
    p.add_argument("--rounds", type=int, default=2, help="launches over each of the two inputs")
    p.add_argument("--timeout", type=float, default=10, help="seconds for a cubin's launches")
    p.add_argument("--schedule-limit", type=float, default=120, help="seconds for one rescheduling")
    p.add_argument("--dry", action="store_true", help="only reschedule")
    p = verb("habits", habits, "least stalls of the compiler that rebuilt control fields fall short of")
    p.add_argument("--cubins", type=Path, required=True)
    p.add_argument("--sassafras", required=True)
    p.add_argument("--only", help="a regular expression for NAME.BUILD")
    p.add_argument("--least", type=int, default=6, help="how often a pair has to occur")
    p.set_defaults(extra="", schedule_limit=120)
    p = verb("check", check, "exit status 0 if the candidate gives what the original gives")
    p.add_argument("original", type=Path)
    p.add_argument("candidate", type=Path)
    p.add_argument("--rounds", type=int, default=4)
    p = verb("blame", blame, "bisect what failed")
    p.add_argument("--cubins", type=Path, required=True)
    p.add_argument("--sassafras", required=True)
    p.add_argument("--result", type=Path, required=True)
    p.add_argument("--jobs", type=int, default=4)
    p.add_argument("--extra", default="")
    p.add_argument("--only", help="a regular expression for NAME.BUILD.MODE")
    p.add_argument("--every", action="store_true", help="all modes, not one of each kernel and build")
    p.add_argument("--rounds", type=int, default=4)
    p.add_argument("--timeout", type=float, default=15, help="seconds for one check")
    p.add_argument("--limit", type=float, default=240, help="seconds for one bisection")
    p = verb("worker", lambda options: worker(options.rounds), argparse.SUPPRESS)
    p.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    sys.exit(options.does(options) or 0)


if __name__ == "__main__":
    main()
