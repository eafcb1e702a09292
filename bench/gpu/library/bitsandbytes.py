#!/usr/bin/env python3
"""Does a rescheduled libbitsandbytes compute the same? Loads several versions of the library side by side and compares all bits.

    bitsandbytes.py ORIGINAL.so OTHER.so ...        # on the GPU, with PyTorch and the CUDA runtime that the library was made for

Block-wise quantisation and back in three types, three encodings and seven block sizes, optimiser steps, row-wise int8 and a 4-bit
matrix-vector product. Nothing but the library's own C interface is used, so that it is the file that is tested.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import torch

TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
SIZES = (4096 * 33 + 7, 1 << 20, 100)
BLOCKS = (64, 128, 256, 512, 1024, 2048, 4096)
ENCODINGS = ("", "_nf4", "_fp4")
STREAM = ctypes.c_void_p(0)


def pointer(tensor: torch.Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def number(value: int) -> ctypes.c_int32:
    return ctypes.c_int32(value)


def quantisation(lib: ctypes.CDLL) -> list[torch.Tensor]:
    """Block-wise, forth and back."""
    out = []
    code = torch.linspace(-1, 1, 256, device="cuda")
    for size in SIZES:
        for name, kind in TYPES.items():
            torch.manual_seed(size)
            values = torch.randn(size, device="cuda").to(kind)
            for block in BLOCKS:
                for encoding in ENCODINGS:
                    table = pointer(code) if encoding == "" else None
                    scales = torch.zeros((size + block - 1) // block, device="cuda")
                    packed = torch.zeros(size, dtype=torch.uint8, device="cuda")
                    back = torch.zeros(size, device="cuda", dtype=kind)
                    forth = getattr(lib, f"cquantize_blockwise_{name}{encoding}")
                    forth(table, pointer(values), pointer(scales), pointer(packed), number(block), number(size))
                    undo = getattr(lib, f"cdequantize_blockwise_{name}{encoding}")
                    undo(table, pointer(packed), pointer(scales), pointer(back), number(block), number(size), STREAM)
                    out += [scales, packed, back]
    return out


def optimiser(lib: ctypes.CDLL) -> list[torch.Tensor]:
    """Three steps of Adam."""
    out = []
    real = ctypes.c_float
    for size in (4097, 1 << 18):
        torch.manual_seed(size)
        gradient, weights = torch.randn(size, device="cuda"), torch.randn(size, device="cuda")
        first, second = torch.zeros(size, device="cuda"), torch.zeros(size, device="cuda")
        for step in (1, 2, 3):
            lib.cadam32bit_grad_fp32(
                pointer(gradient), pointer(weights), pointer(first), pointer(second), None, real(0), real(0),
                real(0.9), real(0.999), real(0), real(0), real(1e-8), real(0.01), number(step), real(1e-3), real(1),
                ctypes.c_bool(False), number(size),
            )  # fmt: skip
        out += [weights, first, second]
    return out


def products(lib: ctypes.CDLL) -> list[torch.Tensor]:
    """Rows as int8, and a matrix of 4-bit numbers times a vector."""
    torch.manual_seed(5)
    rows, columns, block = 512, 1024, 64
    matrix = torch.randn(rows, columns, device="cuda", dtype=torch.float16)
    scales, packed = torch.zeros(rows, device="cuda"), torch.zeros(rows, columns, dtype=torch.int8, device="cuda")
    lib.cint8_vector_quant(
        pointer(matrix), pointer(packed), pointer(scales), ctypes.c_float(0), number(rows), number(columns), STREAM
    )
    absmax = torch.zeros(rows * columns // block, device="cuda")
    quarter = torch.zeros(rows * columns // 2, dtype=torch.uint8, device="cuda")
    lib.cquantize_blockwise_fp16_nf4(
        None, pointer(matrix), pointer(absmax), pointer(quarter), number(block), number(rows * columns)
    )
    levels = torch.linspace(-1, 1, 16, device="cuda")
    vector = torch.randn(columns, device="cuda", dtype=torch.float16)
    result = torch.zeros(rows, device="cuda", dtype=torch.float16)
    lib.cgemm_4bit_inference_naive_fp16(
        number(rows), number(1), number(columns), pointer(vector), pointer(quarter), pointer(absmax), pointer(levels),
        pointer(result), number(rows), number(columns // 2), number(rows), number(block), STREAM,
    )  # fmt: skip
    return [packed, scales, result]


def results(lib: ctypes.CDLL) -> list[torch.Tensor]:
    out = quantisation(lib) + optimiser(lib) + products(lib)
    torch.cuda.synchronize()
    return out


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.view(torch.uint8), b.view(torch.uint8))


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    paths = [Path(argument).resolve() for argument in sys.argv[1:]]
    expected = results(ctypes.CDLL(str(paths[0])))
    live = sum(bool((tensor != 0).any()) for tensor in expected)
    print(f"{len(expected)} results of {paths[0].name}, {live} of them not zero")
    wrong = live < len(expected)
    for path in paths:
        found = results(ctypes.CDLL(str(path)))
        differing = sum(not same(a, b) for a, b in zip(expected, found))
        wrong |= differing > 0
        print(f"{path.name}: {'the same bits' if differing == 0 else f'{differing} differ'}")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
