"""Compiles the Triton kernels of the corpus without a GPU.

    python3 triton_compile.py KERNELS OUT TARGET:KERNEL...

Writes OUT/<target>/<kernel>.cubin and .ptx for every pair. A kernel is a file with a function of the same name, SIGNATURE
(the types of its arguments that are no constants), CONSTANTS and, where it needs them, OPTIONS.
"""

import importlib.util
import pathlib
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

DIVISIBLE_BY_16 = [["tt.divisibility", 16]]


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def source(module, name):
    function = getattr(module, name)
    types = [kind.strip() for kind in module.SIGNATURE.split(",")]
    names = [argument for argument in function.arg_names if argument not in module.CONSTANTS]
    assert len(types) == len(names), f"{name}: {len(names)} arguments, {len(types)} types"
    signature = dict(zip(names, types)) | {constant: "constexpr" for constant in module.CONSTANTS}
    # What a caller with aligned tensors and round sizes gets.
    aligned = [i for i, argument in enumerate(function.arg_names) if signature[argument][0] in "*i"]
    attributes = {(i,): DIVISIBLE_BY_16 for i in aligned}
    return ASTSource(function, signature, constexprs=module.CONSTANTS, attrs=attributes)


def main(kernels, out, *pairs):
    for pair in pairs:
        target, name = pair.split(":")
        module = load(pathlib.Path(kernels, name + ".py"))
        options = getattr(module, "OPTIONS", {})
        compiled = triton.compile(source(module, name), target=GPUTarget("cuda", int(target), 32), options=options)
        folder = pathlib.Path(out, target)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.ptx").write_text(compiled.asm["ptx"])
        (folder / f"{name}.cubin").write_bytes(compiled.asm["cubin"])


main(*sys.argv[1:])
