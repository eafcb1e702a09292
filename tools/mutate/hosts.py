"""Makes small fatbinaries, a shared library and an archive around cubins, with fatbinary, gcc and ar: files as nvcc leaves them, but for the code."""

import subprocess
from pathlib import Path

# Each part has a fatbinary with a wrapper that leads to it, and zeros that have to stay zeros.
PART = """ .section .nv_fatbin,"a",@progbits
 .balign 8
fatbinary_{n}: .incbin "{fatbinary}"
 .section .nvFatBinSegment,"aw",@progbits
 .balign 8
 .globl wrapper_{n}
wrapper_{n}: .long 0x466243b1, 1
 .quad fatbinary_{n}, 0
 .text
 .globl code_{n}
 .type code_{n}, @function
code_{n}: movq wrapper_{n}@GOTPCREL(%rip), %rax
 ret
 .size code_{n}, . - code_{n}
 .section .rodata
text_{n}: .string "part {n}"
 .data
 .globl data_{n}
 .balign 8
data_{n}: .quad zeros_{n}, wrapper_{n}, text_{n}
 .bss
 .globl zeros_{n}
 .balign 32
zeros_{n}: .zero 3000
 .section .note.GNU-stack,"",@progbits
"""
# Resources of several kinds, with pairs of pointers (end, begin) to them.
RESOURCES = """ .section .resources,"a",@progbits
 .balign 8
index: .quad 1, 2, 3, 4
resource: .incbin "{fatbinary}"
 .quad 0
other: .ascii "neither code nor an index"
 .balign 8
rest: .incbin "{fatbinary}"
 .quad 0
end:
 .data
 .balign 8
 .globl pairs
pairs: .quad resource, index, other, resource, rest, other, end, rest
 .section .note.GNU-stack,"",@progbits
"""
MODES = ("size", "speed", "none")  # zstd, LZ4, as they are


def _run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


def fatbinary(program, folder, name, mode, images, concatenated=False):
    """A fatbinary of `[(kind, architecture, path)]`, kind `elf` or `ptx`."""
    specs = [f"--image3=kind={kind},sm={arch},file={Path(path).resolve()}" for kind, arch, path in images]
    joined = ["--concat"] if concatenated else []
    _run([program, "-64", "--compress-all", f"--compress-mode={mode}", *joined, f"--create={name}", *specs], folder)
    return folder / name


def library(folder, name, fatbinaries):
    """(shared library, archive) with one part per fatbinary; the library has the first one among resources, too."""
    objects = []
    for n, path in enumerate(fatbinaries):
        source = folder / f"{name}{n}.s"
        source.write_text(PART.format(n=n, fatbinary=path.resolve()))
        objects.append(f"{name}{n}.o")
        _run(["gcc", "-c", source.name, "-o", objects[-1]], folder)
    resources = folder / f"{name}_resources.s"
    resources.write_text(RESOURCES.format(fatbinary=fatbinaries[0].resolve()))
    _run(["gcc", "-shared", "-nostdlib", *objects, resources.name, "-o", f"{name}.so"], folder)
    archive = folder / f"{name}.a"
    archive.unlink(missing_ok=True)
    _run(["ar", "rcsD", archive.name, *objects], folder)
    return folder / f"{name}.so", archive
