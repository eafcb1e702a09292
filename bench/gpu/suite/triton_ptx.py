"""Compiles Triton kernels to PTX without a GPU; called by build.py in a process of its own.

    triton_ptx.py FILE OUT.ptx OUT.json

A kernel is a file with a function of the same name, SIGNATURE (the types of its arguments that are no constants),
CONSTANTS and, where it needs them, OPTIONS and UNALIGNED (integers that are not known to be multiples of 16).
"""

import importlib.util
import json
import pathlib
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ALIGNED = [["tt.divisibility", 16]]


def source(module, name: str) -> ASTSource:
    function = getattr(module, name)
    types = [kind.strip() for kind in module.SIGNATURE.split(",")]
    names = [argument for argument in function.arg_names if argument not in module.CONSTANTS]
    assert len(types) == len(names), f"{name}: {len(names)} arguments, {len(types)} types"
    signature = dict(zip(names, types)) | {constant: "constexpr" for constant in module.CONSTANTS}
    unaligned = getattr(module, "UNALIGNED", [])
    aligned = [i for i, n in enumerate(function.arg_names) if signature[n][0] in "*i" and n not in unaligned]
    return ASTSource(function, signature, constexprs=module.CONSTANTS, attrs={(i,): ALIGNED for i in aligned})


def main(path: str, ptx: str, metadata: str) -> None:
    name = pathlib.Path(path).stem
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    compiled = triton.compile(
        source(module, name), target=GPUTarget("cuda", 90, 32), options=getattr(module, "OPTIONS", {})
    )
    pathlib.Path(ptx).write_text(compiled.asm["ptx"])
    found = compiled.metadata
    facts = {"shared": found.shared, "num_warps": found.num_warps, "entry": found.name, "version": triton.__version__}
    scratch = {n: getattr(found, n, 0) for n in ("global_scratch_size", "profile_scratch_size", "tmem_size")}
    pathlib.Path(metadata).write_text(json.dumps(facts | scratch))


main(*sys.argv[1:])
