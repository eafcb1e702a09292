#!/usr/bin/env python3
"""Do the suite's kernels compute what they say? Checks the originals against NumPy, over the smaller input sets.

    references.py --manifest DIR/manifest.json [--kernels a,b]

Bit-for-bit comparison of variants only shows that they agree; this shows that there is something to agree on.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np

import manifest
from driver import Driver
from session import Session, Support, load_functions

Arrays = list[Any]  # the arguments, inputs as arrays, scalars as numbers


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True, initial=-1e30))
    return e / e.sum(-1, keepdims=True)


def sgemm(v: Arrays, alpha: float = 1.0, transposed: bool = False) -> Arrays:
    m, n, k = v[3:6]
    a = v[0].reshape(m, k).astype("f8")
    b = v[1].reshape(n, k).T.astype("f8") if transposed else v[1].reshape(k, n).astype("f8")
    return [alpha * (a @ b)]


def nbody(v: Arrays) -> Arrays:
    bodies, targets, sources = v[0].reshape(-1, 4).astype("f8"), v[2], v[3]
    out = np.zeros((targets, 4))
    for first in range(0, targets, 512):
        me = bodies[first : min(first + 512, targets), None, :3]
        d = bodies[None, :sources, :3] - me
        inverse = 1 / np.sqrt((d * d).sum(2) + v[4])
        pull = bodies[None, :sources, 3] * inverse
        out[first : first + 512, :3] = (d * (pull * inverse**2)[..., None]).sum(1)
        out[first : first + 512, 3] = -pull.sum(1)
    return [out]


def normal(d: np.ndarray) -> np.ndarray:
    k = 1 / (1 + 0.2316419 * abs(d))
    series = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.39894228 * np.exp(-0.5 * d * d) * series
    return np.where(d > 0, 1 - tail, tail)


def blackscholes(v: Arrays) -> Arrays:
    s, x, t = (a.astype("f8") for a in v[:3])
    rate, volatility = v[5:7]
    root = np.sqrt(t)
    d1 = (np.log(s / x) + (rate + 0.5 * volatility**2) * t) / (volatility * root)
    discounted = x * np.exp(-rate * t)
    call = s * normal(d1) - discounted * normal(d1 - volatility * root)
    return [call, call + discounted - s]


def stencil(v: Arrays) -> Arrays:
    w, h, d = v[2:5]
    padded = np.pad(v[0].reshape(d, h, w), 4)
    total = v[5] * v[0].reshape(d, h, w)
    for i, weight in enumerate(v[6:10], 1):
        for axis in range(3):
            for step in (-i, i):
                total = total + weight * np.roll(padded, step, axis)[4:-4, 4:-4, 4:-4]
    return [total]


def masked_softmax(v: Arrays) -> Arrays:
    x, lengths = v[0].reshape(-1, v[3]).astype("f8"), v[1]
    keep = np.arange(v[3])[None] < lengths[:, None]
    with np.errstate(invalid="ignore"):
        return [np.where(keep, softmax(np.where(keep, x, -np.inf)), 0)]


def normalised(x: np.ndarray, gain: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    x = x.astype("f8")
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + epsilon) * gain.astype("f8") + bias.astype("f8")


def sha(v: Arrays) -> Arrays:
    count, chain, threshold = v[3:6]
    primes = [p for p in range(2, 312) if all(p % q for q in range(2, p))][:64]
    root = lambda p, power: int((p ** (1 / power) % 1) * 2**32)  # noqa: E731
    turn = lambda x, by: x >> np.uint32(by) | x << np.uint32(32 - by)  # noqa: E731
    state = [np.full(count, root(p, 2), "u4") for p in primes[:8]]
    marks = np.zeros(count, "u4")
    words = v[0].reshape(4, count, 4)
    for link in range(chain):
        w = [words[i // 4, :, i % 4].copy() for i in range(16)]
        for i in (0, 4, 8, 12):
            w[i] += np.uint32(link)
        for i in range(16, 64):
            x, y = w[i - 15], w[i - 2]
            w.append(w[i - 16] + (turn(x, 7) ^ turn(x, 18) ^ x >> np.uint32(3)) + w[i - 7] + (turn(y, 17) ^ turn(y, 19) ^ y >> np.uint32(10)))
        a, b, c, d, e, f, g, h = state
        for i in range(64):
            t1 = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (e & f ^ ~e & g) + np.uint32(root(primes[i], 3)) + w[i]
            t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + (a & b ^ a & c ^ b & c)
            a, b, c, d, e, f, g, h = t1 + t2, a, b, c, d + t1, e, f, g
        state = [s + x for s, x in zip(state, (a, b, c, d, e, f, g, h))]
        marks += np.where(state[0] < threshold, np.uint32(1 << (link & 31)), np.uint32(0))
    return [np.concatenate([np.stack(state[:4], 1).ravel(), np.stack(state[4:], 1).ravel()]), marks]


def fft(v: Arrays) -> Arrays:
    x = v[0].astype("f8").view("c16").reshape(-1, 1024)
    y = (np.fft.fft(x) if v[2] < 0 else np.fft.ifft(x) * 1024) * v[3]
    return [y.view("f8")]


def histogram(v: Arrays) -> Arrays:
    found = np.bincount(v[0].view("u1"), minlength=256)
    found[: v[3]] = 0
    found[v[4] :] = 0
    return [v[1] + found]


def conv2d(v: Arrays) -> Arrays:
    w, h, channels = v[3:6]
    image = np.pad(v[0].reshape(channels, h, w).astype("f8"), ((0, 0), (2, 2), (2, 2)))
    weight, total = v[1].reshape(channels, 5, 5), np.full((h, w), v[6], "f8")
    for c in range(channels):
        for y in range(5):
            for x in range(5):
                total += weight[c, y, x] * image[c, y : y + h, x : x + w]
    return [np.maximum(total, 0)]


def sort(v: Arrays) -> Arrays:
    places = np.concatenate([f + np.argsort(v[0][f : f + 1024], kind="stable") for f in range(0, v[3], 1024)])
    return [v[0][places], places]


def spmv(v: Arrays) -> Arrays:
    starts, columns, values, x, y0 = v[:5]
    products = values.astype("f8") * x[columns]
    sums = np.concatenate([[0], np.cumsum(products)])
    return [sums[starts[1:]] - sums[starts[:-1]] + v[7] * y0.astype("f8")]


def scan(v: Arrays) -> Arrays:
    padded = np.pad(v[0], (0, -len(v[0]) % 1024)).reshape(-1, 1024)
    sums = np.cumsum(padded, 1, dtype="i4")
    return [sums.ravel()[: v[3]], sums[:, -1]]


def q4_gemv(v: Arrays) -> Arrays:
    rows, columns = v[4:6]
    nibbles = (v[0][:, None] >> (4 * np.arange(8, dtype="u4")) & 15).reshape(rows, columns).astype("f8")
    scales = np.repeat(v[1].reshape(rows, columns // 32, 2).astype("f8"), 32, 1)
    return [(nibbles * scales[..., 0] + scales[..., 1]) @ v[2].astype("f8")]


def padded_rows(v: Arrays, out: np.ndarray, stride: int, width: int) -> np.ndarray:
    """Only the columns inside are written."""
    return np.pad(out, ((0, 0), (0, stride - width)), constant_values=np.nan)


def attention(v: Arrays) -> Arrays:
    q, k, x = (a.reshape(-1, v[4], 64).astype("f8") for a in v[:3])
    score = np.einsum("hid,hjd->hij", q, k) * v[5]
    score = np.where(np.tri(v[4], dtype=bool), score, -np.inf) * np.log(2)
    return [np.einsum("hij,hjd->hid", softmax(score), x)]


def dropout_gelu(v: Arrays) -> Arrays:
    x = v[0].astype("f8")
    gelu = 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))
    return [gelu / (1 - v[4]), None]


REFERENCES: dict[str, Callable[[Arrays], Arrays]] = {
    "sgemm128": lambda v: sgemm(v, v[6]),
    "sgemm64": sgemm,
    "nbody": nbody,
    "blackscholes": blackscholes,
    "stencil_f64": stencil,
    "softmax": masked_softmax,
    "layernorm": lambda v: [normalised(v[0].reshape(-1, 2 * v[4]), v[1], v[2], v[5])],
    "reduce": lambda v: [v[0].astype("f8").sum(), abs(v[0]).max()],
    "transpose": lambda v: [v[0].reshape(v[3], v[2]).T],
    "hash": sha,
    "fft": fft,
    "histogram": histogram,
    "conv2d": conv2d,
    "wmma_gemm": sgemm,
    "gemm_async": lambda v: sgemm(v, transposed=True),
    "sort": sort,
    "spmv": spmv,
    "scan": scan,
    "q4_gemv": q4_gemv,
    "triton_vector_add": lambda v: [v[0] + v[1]],
    "triton_softmax": lambda v: [padded_rows(v, softmax(v[1].reshape(-1, v[2])[:, : v[4]].astype("f8")), v[2], v[4])],
    "triton_layer_norm": lambda v: [
        padded_rows(v, normalised(v[0].reshape(-1, v[4])[:, : v[5]], v[1][: v[5]], v[2][: v[5]], v[6]), v[4], v[5])
    ],
    "triton_matmul": lambda v: sgemm(v),
    "triton_attention": attention,
    "triton_dropout_gelu": dropout_gelu,
}


def deviation(kernel: str, found: np.ndarray, expected: np.ndarray) -> float:
    """The largest error, relative to the largest value expected; NaN in `expected` is not looked at."""
    found, expected = found.astype("f8").ravel(), np.asarray(expected, "f8").ravel()
    if kernel == "reduce":
        found = found.max(keepdims=True) if len(expected) == 1 and abs(found.max() - expected[0]) < 1e-30 else found.sum(keepdims=True)
    looked = ~np.isnan(expected)
    if kernel == "triton_dropout_gelu":
        looked &= found != 0  # which elements are dropped is not checked
    error = abs(found - expected)[looked]
    return float(error.max() / max(abs(expected[looked]).max(), 1e-300)) if np.isfinite(error).all() else float("inf")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--kernels", type=lambda text: text.split(","))
    options = parser.parse_args()
    found = manifest.load(options.manifest)
    driver, well = Driver(), True
    support = Support(driver, (options.manifest.parent / found.support).read_bytes())
    for launch in found.select(options.kernels):
        (function,) = load_functions(driver, launch, {"it": options.manifest.parent / launch.cubin}).values()
        for number, chosen in list(enumerate(launch.sets))[1:]:
            session = Session(driver, support, chosen)
            session.prepare()
            values: Arrays = [a.value for a in chosen.arguments]
            for b in session.buffers:
                values[b.place] = np.frombuffer(driver.download(b.pointer, b.argument.size), b.argument.type)
            session.run(function)
            outputs = [np.frombuffer(driver.download(b.pointer, b.argument.size), b.argument.type) for b in session.written]
            session.close()
            if launch.kernel not in REFERENCES:
                print(f"{launch.name:20} set {number}: no reference; {[o[:3].tolist() for o in outputs]}")
                continue
            errors = [
                deviation(launch.kernel, o, e) for o, e in zip(outputs, REFERENCES[launch.kernel](values)) if e is not None
            ]
            half = any(a.type == "f2" and a.role == "out" for a in chosen.arguments)
            right = max(errors) < (4e-3 if half else 2e-4)
            well &= right
            print(f"{launch.name:20} set {number}: {'right' if right else 'WRONG'} {[f'{e:.1e}' for e in errors]}", flush=True)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
