#!/usr/bin/env python3
"""Makes what `run.py` needs: cubins for sm_90 and a manifest of mutants that `sassafras verify` rejects. Needs no GPU.

    build.py --nvcc NVCC --nvdisasm NVDISASM --sassafras BIN OUT

`--sassafras` may be left out: then every mutant that the judge of `tools/mutate` calls unsafe is taken.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "tools" / "mutate"))

import campaign
import check
import elf
import mutants
import rules
import sasstext

ARCH = 90


def compile_kernel(options, source, cubin):
    ptx = cubin.with_suffix(".ptx")
    ptxas = options.ptxas or str(Path(options.nvcc).with_name("ptxas"))
    subprocess.run([options.nvcc, "-O3", "-ptx", f"-arch=compute_{ARCH}", source, "-o", ptx], check=True)
    subprocess.run([ptxas, "-O3", f"-arch=sm_{ARCH}", ptx, "-o", cubin], check=True)
    ptx.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--ptxas", help="another ptxas than the one beside nvcc")
    parser.add_argument("--nvdisasm", action="append", required=True)
    parser.add_argument("--sassafras")
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    launches = tomllib.loads((HERE / "kernels" / "launches.toml").read_text())
    options.out.mkdir(parents=True, exist_ok=True)

    disassembler, listings = sasstext.Disassembler(options.nvdisasm), {}
    for name in launches:
        cubin = options.out / f"{name}.cubin"
        compile_kernel(options, HERE / "kernels" / f"{name}.cu", cubin)
        listings[cubin] = campaign.listing(disassembler, cubin, None)
    learnt = rules.load(campaign.STORED)[ARCH]
    campaign.drop_contradicted(learnt, [k for found in listings.values() for k in found.kernels])

    # An equal part per kernel, so that none is left out because it is short.
    made = []
    for cubin, found in listings.items():
        part = -(-options.mutants // len(listings))
        drawn, swapped = mutants.sample(learnt, {cubin: found}, part, f"{options.seed}:{cubin.stem}")
        made += drawn + swapped
    for number, mutant in enumerate(made):
        mutant.id = number
    total = len(made)
    if options.sassafras:
        timed = [m for m in made if m.kind != "order"]
        orders = [m for m in made if m.kind == "order"]
        work = options.out / "work"
        work.mkdir(exist_ok=True)
        outcomes = check.run(options.sassafras, timed, orders, work, 2)
        shutil.rmtree(work)
        made = [o.mutant for o in outcomes if o.verdict in ("exact", "near", "elsewhere")]

    # In no order of kinds, so that a run cut short has seen all of them.
    random.Random(options.seed).shuffle(made)
    records = []
    for mutant in made:
        start = elf.text_sections(Path(mutant.path).read_bytes())[mutant.kernel][0]
        records.append({
            "id": mutant.id, "kernel": Path(mutant.path).stem, "kind": mutant.kind, "detail": mutant.detail,
            "rule": mutant.hazards[0].rule if mutant.hazards else "order", "file": mutant.register_file,
            "opcode": mutant.producer, "reason": mutant.hazards[0].reason if mutant.hazards else mutant.detail,
            "patches": [[start + o, new.to_bytes(16, "little").hex()] for o, _, new in mutant.changes],
        })
    kernels = {name: {"entry": "kernel", "shared": 0, **launch} for name, launch in launches.items()}
    (options.out / "manifest.json").write_text(json.dumps({"kernels": kernels, "mutants": records}, indent=1))
    shutil.copy(HERE / "run.py", options.out)
    print(f"{len(records)} of {total} mutants, of {len(kernels)} kernels, in {options.out}")


if __name__ == "__main__":
    main()
