#!/usr/bin/env python3
"""What an iteration of tileiras's kernels takes on a GPU of compute capability 9.0, in cycles of a multiprocessor.

    python3 tileiras.py CUBINS [--out measured.csv]

CUBINS holds `tile-<program>.cubin` of the corpus for sm_90a (`cargo xtask corpus`). Every program runs with one block per multiprocessor (or as
many as its loop needs) and with two numbers of iterations; the difference of the times is what the iterations take that the second run has
more. The clock is read while kernels run. The scheduler's model of hardware promises an II for each of these loops: a kernel that takes
less shows that the model asks for too much.
"""

import argparse
import pathlib
import subprocess
import threading
import time

import cupy as cp
import numpy as np

SMS = cp.cuda.Device().attributes["MultiProcessorCount"]


def clock():
    ask = ["nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits"]
    return float(subprocess.check_output(ask).split()[0])


def values(kind, *shape):
    """Numbers around 1, whatever the type."""
    if kind == "f16":
        return cp.random.rand(*shape, dtype=cp.float32).astype(cp.float16)
    if kind == "f32":
        return cp.random.rand(*shape, dtype=cp.float32)
    if kind == "bf16":
        return (cp.random.randint(0, 128, shape).astype(cp.uint16)) | cp.uint16(0x3F00)
    if kind == "e4m3":
        return (cp.random.randint(0, 16, shape).astype(cp.uint8)) | cp.uint8(0x30)
    if kind == "i8":
        return cp.random.randint(-8, 8, shape).astype(cp.int8)
    return cp.zeros(shape, cp.int32)


def arguments(*given):
    found = []
    for one in given:
        if isinstance(one, cp.ndarray):
            found += [one, *(np.int32(n) for n in one.shape), *(np.int32(s // one.itemsize) for s in one.strides)]
        else:
            found.append(np.float32(one))
    return tuple(found)


def square():
    """Blocks in two dimensions, as many as there are multiprocessors."""
    rows = max(n for n in range(1, int(SMS**0.5) + 2) if SMS % n == 0)
    return rows, SMS // rows


def matmul(n):
    y, x = square()
    a, b, c = values("f16", 128 * x, 64 * n), values("f16", 64 * n, 128 * y), values("f16", 128 * x, 128 * y)
    return arguments(a, b, c), (x, y, 1)


def matmul_fp8(n):
    y, x = square()
    a, b = values("e4m3", 128 * x, 128 * n), values("e4m3", 128 * y, 128 * n)
    # Stored with its columns together: the kernel sees rows and columns the other way round.
    return arguments(a, b, values("f32", 128 * x), values("f32", 128 * y), values("bf16", 128 * x, 128 * y)), (x, y, 1)


def matmul_batched(n):
    y, x = square()
    return arguments(values("bf16", 1, 128 * x, 64 * n), values("bf16", 1, 64 * n, 64 * y), values("bf16", 1, 128 * x, 64 * y)), (x, y, 1)


def matmul_activation(n):
    y, x = square()
    m, k = 128 * x, 256 * y
    return arguments(values("bf16", m, 64 * n), values("bf16", 64 * n, k), values("bf16", k), values("bf16", m, k), values("bf16", m, k)), (x * y, 1, 1)


def matmul_int8(n):
    y, x = square()
    return arguments(values("i8", 64 * x, 128 * n), values("i8", 64 * n, 128 * y), values("i32", 64 * x, 128 * y)), (x, y, 1)


def attention(n):
    heads = 4
    rows = SMS // heads
    q, k, v = values("f16", 1, heads, 128 * rows, 64), values("f16", 1, heads, 64 * n, 64), values("f16", 1, heads, 64 * n, 64)
    return arguments(q, k, v, cp.zeros_like(q), 0.1), (rows, heads, 1)


def softmax(n):
    x = values("f32", 4 * SMS, 1024 * n)
    return arguments(x, cp.zeros_like(x)), (SMS, 1, 1)


def layer_norm(n):
    x = values("f16", SMS, 1024 * n)
    return arguments(x, values("f16", 1024 * n), values("f16", 1024 * n), cp.zeros_like(x), values("f32", SMS), values("f32", SMS), 1e-5), (SMS, 1, 1)


def reduce(n):
    return arguments(values("f32", 2048 * n * SMS), cp.zeros(1, cp.float32), cp.zeros(1, cp.int32)), (SMS, 1, 1)


def elementwise(n):
    x = [values("bf16", 1024 * n * SMS) for _ in range(4)]
    return arguments(*x, 1.5), (SMS, 1, 1)


def transpose(n):
    return arguments(values("f32", 64 * SMS, 64 * n), values("f32", 64 * n, 64 * SMS)), (SMS, 1, 1)


# Threads of a block, and the iterations of the two runs.
PROGRAMS = {
    matmul: (256, 128, 512),
    matmul_fp8: (256, 128, 512),
    matmul_batched: (256, 128, 512),
    matmul_activation: (256, 128, 512),
    matmul_int8: (256, 128, 512),
    attention: (256, 128, 512),
    softmax: (256, 64, 256),
    layer_norm: (256, 64, 256),
    reduce: (256, 64, 256),
    elementwise: (128, 64, 256),
    transpose: (128, 64, 256),
}


def run(function, grid, threads, given):
    """Milliseconds of a launch and the clock during it."""
    function(grid, (threads, 1, 1), given)
    cp.cuda.runtime.deviceSynchronize()
    clocks, stop = [], threading.Event()

    def watch():
        while not stop.is_set():
            clocks.append(clock())

    watcher = threading.Thread(target=watch)
    watcher.start()
    times, begin = [], time.monotonic()
    while time.monotonic() - begin < 1.0:
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        for _ in range(10):
            function(grid, (threads, 1, 1), given)
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, end) / 10)
    stop.set()
    watcher.join()
    return float(np.median(times)), float(np.median(clocks[1:] or clocks))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cubins", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    lines = ["program,iterations,milliseconds,megahertz,cycles per iteration"]
    for make, (threads, few, many) in PROGRAMS.items():
        name = make.__name__
        try:
            function = cp.RawModule(path=str(options.cubins / f"tile-{name}.cubin")).get_function(name)
            cycles = []
            for iterations in (few, many):
                given, grid = make(iterations)
                milliseconds, megahertz = run(function, grid, threads, given)
                cycles.append(milliseconds * 1e3 * megahertz)
                lines.append(f"{name},{iterations},{milliseconds:.5f},{megahertz:.0f},")
            lines.append(f"{name},{few} to {many},,,{(cycles[1] - cycles[0]) / (many - few):.0f}")
        except Exception as error:  # a program that cannot be launched must not hide the others
            lines.append(f"{name},,,,failed: {str(error).splitlines()[0]}")
        print(lines[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
