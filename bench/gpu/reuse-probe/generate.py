"""Words of opcodes for probe.py, from compiled code, and a kernel with room for instructions. Needs no GPU.

    SASSAFRAS_TOOLS=DIR generate.py OUT FOLDER [FOLDER …]       # folders with cubins for sm_90
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

KERNEL = """extern "C" __global__ void probe(const uint4* in, uint4* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 a = in[i * 4], b = in[i * 4 + 1], c = in[i * 4 + 2], d = in[i * 4 + 3];
    __syncthreads();
%s    out[i * 4] = a, out[i * 4 + 1] = b, out[i * 4 + 2] = c, out[i * 4 + 3] = d;
}
"""
ROOM = 64
# Opcodes, and the operands behind the result: registers, and what else must stand there.
WANTED = {
    **dict.fromkeys(["FADD", "FMUL", "HADD2", "HMUL2", "F2FP.F16.F32.PACK_AB", "BMSK", "SGXT", "DADD", "DMUL"], "RR"),
    **dict.fromkeys(["FFMA", "HFMA2", "HFMA2.MMA", "IADD3", "IMAD", "PRMT", "SHF.R.W.U32", "SHF.L.W.U32.HI", "SHF.R.U64", "IDP.4A.S8.S8", "DFMA", "VABSDIFF.U32"], "RRR"),
    **dict.fromkeys(["MOV", "I2FP.F32.U32", "MUFU.RCP", "POPC", "IABS", "I2F.U32.RP", "F2I.TRUNC.NTZ"], "R"),
    **dict.fromkeys(["VIMNMX", "FMNMX"], "RRp"),
    "VIADDMNMX": "RRRp",
    "IMAD.MOV.U32": "zzR",
    "LOP3.LUT": "RRRnn",
    "SHF.L.U32": "RRz",
    "LEA": "RRn",
}
PLACES = (("a", 24), ("b", 32), ("c", 64))
LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?);?\s+/\* 0x([0-9a-f]{16}) \*/\n\s+/\* 0x([0-9a-f]{16}) \*/")


def tool(name):
    return str(sorted(Path(os.environ["SASSAFRAS_TOOLS"]).glob(f"cuda13/**/bin/{name}"))[0])


def listing(cubin):
    """(offset, text, word) of every instruction."""
    text = subprocess.run([tool("nvdisasm"), "-c", "-hex", cubin], check=True, capture_output=True, text=True).stdout
    return [(int(at, 16), text.strip(), int(high + low, 16)) for at, text, low, high in LINE.findall(text)]


def fits(operands, shape):
    kinds = {"R": r"R\d+", "z": "RZ", "p": r"!?PT", "n": r".*"}
    return len(operands) == len(shape) and all(re.fullmatch(kinds[kind], operand) for kind, operand in zip(shape, operands))


def main():
    out, folders = Path(sys.argv[1]), [Path(folder) for folder in sys.argv[2:]]
    out.mkdir(parents=True, exist_ok=True)
    source, cubin = out / "kernel.cu", out / "kernel.cubin"
    source.write_text(KERNEL % ('    asm volatile("nanosleep.u32 0;");\n' * ROOM))
    subprocess.run([tool("nvcc"), "-O3", "-cubin", "-arch=sm_90", source, "-o", cubin], check=True)
    words = listing(cubin)
    first = b"".join(word.to_bytes(16, "little") for _, _, word in words[:16])
    base = cubin.read_bytes().find(first)
    found = {}
    for path in (path for folder in folders for path in sorted(folder.glob("*.cubin"))):
        for _, text, word in listing(path):
            opcode, _, rest = text.partition(" ")
            result, *sources = [part.strip().removesuffix(".reuse") for part in rest.split(",")]
            if opcode not in WANTED or opcode in found or not re.fullmatch(r"R\d+", result) or not fits(sources, WANTED[opcode]):
                continue
            numbers = [int(source[1:]) for source in sources if re.fullmatch(r"R\d+", source)]
            places = [place for place, low in PLACES if word >> low & 255 in numbers]
            # Small numbers stand in other fields, too.
            if len(places) == len(numbers):
                found[opcode] = [hex(word), "".join(places), text]
        if len(found) == len(WANTED):
            break
    (out / "probe.json").write_text(json.dumps({"base": base, "words": [[at, hex(word)] for at, _, word in words], "opcodes": found}, indent=1))
    print(f"{len(found)} opcodes; not found: {', '.join(sorted(set(WANTED) - set(found))) or 'none'}")


if __name__ == "__main__":
    main()
