#!/usr/bin/env python3
"""Does code through the stand-in for ptxas compute the same? Triton's kernels of the suite, and a small model under torch.compile.

    run.py --sassafras BIN --manifest DIR/manifest.json [--json OUT]        # on the GPU, with PyTorch and Triton

Every part runs in a process of its own with an empty cache of Triton's: with ptxas, with ptxas again, and with the stand-in. The
outputs of all three have to be the same bit for bit. How many cubins came out of the stand-in, and how many of them with another order, is
counted in its cache.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUITE = Path(__file__).resolve().parents[1] / "suite"
PARTS = ["triton", "compile"]


def digest(tensor) -> str:
    import torch

    return hashlib.sha256(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()).hexdigest()


def tensors(arguments: list[dict], seed: int) -> tuple[list, list]:
    """What a kernel is called with, and what of it is an output."""
    import torch

    types = {"f2": torch.float16, "f4": torch.float32, "i4": torch.int32, "i1": torch.int8}
    generator = torch.Generator(device="cuda").manual_seed(seed)
    values, outputs = [], []
    for argument in arguments:
        if argument["role"] == "scalar":
            values.append(argument["value"])
            continue
        kind = types[argument["type"]]
        if argument["role"] == "in":
            data = torch.randn(argument["count"], generator=generator, device="cuda")
            values.append(data.to(kind))
        else:
            values.append(torch.zeros(argument["count"], dtype=kind, device="cuda"))
            outputs.append(values[-1])
    return values, outputs


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def triton_part(manifest: Path) -> dict[str, str]:
    """Hashes of all outputs of all Triton launches and input sets."""
    hashes = {}
    launches = json.loads(manifest.read_text())["launches"]
    for name, launch in launches.items():
        if not name.startswith("triton_"):
            continue
        path = SUITE / "triton" / f"{name.removeprefix('triton_')}.py"
        module = load(path)
        kernel = getattr(module, path.stem)
        for number, chosen in enumerate(launch["sets"]):
            values, outputs = tensors(chosen["arguments"], number)
            names = [name for name in kernel.arg_names if name not in module.CONSTANTS]
            given = dict(zip(names, values)) | module.CONSTANTS | getattr(module, "OPTIONS", {})
            kernel[tuple(chosen["grid"])](**given)
            for place, output in enumerate(outputs):
                hashes[f"{name} {number} {place}"] = digest(output)
    return hashes


def compile_part(_manifest: Path) -> dict[str, str]:
    """Hashes of what a small model computes under torch.compile, and of its gradients."""
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(1000, 256)
            self.layers = nn.ModuleList(nn.TransformerEncoderLayer(256, 4, 1024, 0.0, batch_first=True) for _ in range(2))
            self.norm = nn.LayerNorm(256)
            self.out = nn.Linear(256, 1000)

        def forward(self, tokens):
            x = self.embed(tokens)
            for layer in self.layers:
                x = layer(x)
            return torch.log_softmax(self.out(self.norm(x)), dim=-1)

    torch.manual_seed(7)
    model = Model().cuda()
    compiled = torch.compile(model)
    tokens = torch.randint(0, 1000, (8, 128), generator=torch.Generator().manual_seed(3)).cuda()
    result = compiled(tokens)
    loss = -result[..., 5].mean()
    loss.backward()
    hashes = {"result": digest(result), "loss": digest(loss.reshape(1))}
    for name, parameter in model.named_parameters():
        # Sums over rows by atomics differ from run to run: the gradient of the embedding.
        if not name.startswith("embed"):
            hashes[name] = digest(parameter.grad)
    return hashes


def child(options: argparse.Namespace) -> int:
    part = {"triton": triton_part, "compile": compile_part}[options.part]
    options.out.write_text(json.dumps(part(options.manifest)))
    return 0


def run(options: argparse.Namespace, part: str, folder: Path, extra: dict[str, str]) -> tuple[dict[str, str], float]:
    folder.mkdir()
    environment = os.environ | {"TRITON_CACHE_DIR": str(folder / "triton"), "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}
    out = folder / "out.json"
    command = [sys.executable, __file__, "--part", part, "--manifest", str(options.manifest), "--out", str(out)]
    start = time.monotonic()
    done = subprocess.run(command, env=environment | extra, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{part}: {done.stderr.strip()[-2000:]}")
    return json.loads(out.read_text()), time.monotonic() - start


def real_ptxas() -> str:
    """The ptxas that Triton brings along."""
    import triton

    found = list(Path(triton.__file__).parent.rglob("bin/ptxas"))
    if not found:
        raise SystemExit("run.py: Triton has no ptxas of its own")
    return str(found[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--sassafras", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        return child(options)
    failed, report = False, {}
    with tempfile.TemporaryDirectory(prefix="standin-") as text:
        folder = Path(text)
        link = folder / "ptxas"
        link.symlink_to(options.sassafras.resolve())
        ours = {
            "TRITON_PTXAS_PATH": str(link),
            "TRITON_PTXAS_BLACKWELL_PATH": str(link),
            "SASSAFRAS_PTXAS": real_ptxas(),
            "SASSAFRAS_CACHE_DIR": str(folder / "cache"),
        }
        for part in PARTS:
            runs = [("ptxas", {}), ("again", {}), ("stand-in", ours)]
            results = {name: run(options, part, folder / f"{part}-{name}", extra) for name, extra in runs}
            (first, first_s), (again, _), (new, new_s) = results.values()
            noisy = sorted(key for key in first if first[key] != again[key])
            wrong = sorted(key for key in first if first[key] != new.get(key) and key not in noisy)
            made = sum(path.is_file() for path in (folder / "cache").rglob("*")) if (folder / "cache").exists() else 0
            failed |= bool(wrong) or made == 0
            report[part] = {"outputs": len(first), "noisy": noisy, "wrong": wrong, "cached": made, "seconds": [first_s, new_s]}
            print(f"{part}: {len(first)} outputs, {len(wrong)} differ, {len(noisy)} differ without it, too; ", end="")
            print(f"{made} cubins in the cache; {first_s:.1f} s with ptxas, {new_s:.1f} s with the stand-in", flush=True)
            for key in (wrong + noisy)[:10]:
                print(f"  {key}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
