"""Makes one cubin per pair of operations, and a listing (offset, text, word) beside it. Needs no GPU."""

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

# A step of the chain: reads and writes %r1; %r2, %r3 and %rd2, %fd2, %fd3 hold input.
STEPS = {
    "iadd": "add.s32 %r1,%r1,%r2;",
    "lop": "xor.b32 %r1,%r1,%r3;",
    "shf": "shf.l.wrap.b32 %r1,%r1,%r2,7;",
    "imad": "mad.lo.s32 %r1,%r1,%r2,%r3;",
    "ffma": "mov.b32 %f1,%r1; fma.rn.f32 %f1,%f1,%f2,%f3; mov.b32 %r1,%f1;",
    "fadd": "mov.b32 %f1,%r1; add.f32 %f1,%f1,%f3; mov.b32 %r1,%f1;",
    "fmul": "mov.b32 %f1,%r1; mul.f32 %f1,%f1,%f2; mov.b32 %r1,%f1;",
    "imin": "min.s32 %r1,%r1,%r3; add.s32 %r1,%r1,%r2;",
    "prmt": "prmt.b32 %r1,%r1,%r2,0x2103;",
    "sel": "setp.lt.s32 %p1,%r1,%r3; selp.b32 %r5,%r2,%r3,%p1; xor.b32 %r1,%r1,%r5;",
    "guard": "setp.lt.s32 %p1,%r1,%r3; @%p1 add.s32 %r1,%r1,%r2; @!%p1 xor.b32 %r1,%r1,%r3;",
    "wide": "mad.wide.s32 %rd1,%r1,%r2,%rd2; mov.b64 {%r5,%r6},%rd1; xor.b32 %r1,%r5,%r6;",
    "hfma": "fma.rn.f16x2 %r1,%r1,%r2,%r3;",
    "fsetp": "mov.b32 %f1,%r1; setp.lt.f32 %p1,%f1,%f3; selp.b32 %r5,%r2,%r3,%p1; add.s32 %r1,%r1,%r5;",
    "lea": "shl.b32 %r5,%r1,3; add.s32 %r1,%r5,%r2;",
    "dfma": "mov.b64 %fd1,{%r1,%r6}; fma.rn.f64 %fd1,%fd1,%fd2,%fd3; mov.b64 {%r1,%r6},%fd1;",
}

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p){
.reg .b32 %r<20>; .reg .f32 %f<8>; .reg .b64 %rd<8>; .reg .f64 %fd<8>; .reg .pred %p<4>;
ld.param.u64 %rd5,[p]; mov.u32 %r7,%tid.x; mul.wide.u32 %rd6,%r7,16; add.s64 %rd5,%rd5,%rd6;
ld.global.v4.b32 {%r1,%r2,%r3,%r6},[%rd5]; mov.b32 %f2,%r2; mov.b32 %f3,%r3;
mov.b64 %rd2,{%r2,%r3}; mov.b64 %fd2,%rd2; mov.b64 %fd3,{%r3,%r2};
"""
TAIL = "\nst.global.v2.b32 [%rd5],{%r1,%r6}; ret; }\n"

INSTRUCTION = re.compile(
    r"/\*([0-9a-f]{4,})\*/\s+(.*?);\s+/\* 0x([0-9a-f]{16}) \*/\n\s+/\* 0x([0-9a-f]{16}) \*/"
)


def tool(name):
    found = sorted(Path(os.environ["SASSAFRAS_TOOLS"]).glob(f"cuda13/**/bin/{name}"))
    return str(found[0])


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for first, second in itertools.product(STEPS, STEPS):
        ptx = out / "chain.ptx"
        ptx.write_text(HEAD + "\n".join([STEPS[first], STEPS[second]] * 10) + TAIL)
        cubin = out / f"{first}_{second}.cubin"
        subprocess.run([tool("ptxas"), "-arch=sm_90", "-O3", ptx, "-o", cubin], check=True)
        listing = subprocess.run([tool("nvdisasm"), "-c", "-hex", cubin], check=True, capture_output=True, text=True)
        found = [
            (int(m[1], 16), m[2].strip(), int(m[3], 16) | int(m[4], 16) << 64)
            for m in INSTRUCTION.finditer(listing.stdout)
        ]
        cubin.with_suffix(".json").write_text(json.dumps(found))
    print(f"{len(STEPS) ** 2} kernels in {out}")


main()
