"""Turns the tile programs of the corpus into bytecode of CUDA Tile IR, without a GPU.

    python3 tile_compile.py PROGRAMS OUT PROGRAM...

Writes OUT/<program>.tilebc, which is for all architectures. A program is a file with a kernel of the same name, SIGNATURE (the types of its
arguments that are no constants: `f16 2` is an array with two axes, `f32` a number) and CONSTANTS.
"""

import importlib.util
import inspect
import pathlib
import sys

import cuda.tile as ct
from cuda.tile import compilation

# Of the assembler that is pinned beside the front end: asking it for the newest that it takes would cost a run of it.
BYTECODE = "13.4"

TYPES = {
    "f16": ct.float16,
    "bf16": ct.bfloat16,
    "f32": ct.float32,
    "e4m3": ct.float8_e4m3fn,
    "e8m0": ct.float8_e8m0fnu,
    "i8": ct.int8,
    "i32": ct.int32,
}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def argument(text):
    kind, *axes = text.split()
    if not axes:
        return compilation.ScalarConstraint(TYPES[kind])
    # What a caller with aligned, contiguous tensors of round sizes gets.
    (axes,) = map(int, axes)
    sixteen_bytes = 128 // TYPES[kind].bitwidth
    return compilation.ArrayConstraint(
        TYPES[kind],
        axes,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=[None] * (axes - 1) + [1],
        stride_divisible_by=[sixteen_bytes] * (axes - 1) + [1],
        shape_divisible_by=16,
        base_addr_divisible_by=16,
    )


def signature(module, name):
    names = inspect.signature(getattr(module, name)._pyfunc).parameters
    types = [kind.strip() for kind in module.SIGNATURE.split(",")]
    free = [argument for argument in names if argument not in module.CONSTANTS]
    assert len(types) == len(free), f"{name}: {len(free)} arguments, {len(types)} types"
    given = dict(zip(free, map(argument, types))) | module.CONSTANTS
    convention = compilation.CallingConvention.cutile_python_v1()
    return compilation.KernelSignature([given[argument] for argument in names], convention, symbol=name)


def main(programs, out, *names):
    for name in names:
        module = load(pathlib.Path(programs, name + ".py"))
        compilation.export_kernel(
            getattr(module, name),
            [signature(module, name)],
            pathlib.Path(out, f"{name}.tilebc"),
            output_format="tileir_bytecode",
            bytecode_version=BYTECODE,
        )


main(*sys.argv[1:])
