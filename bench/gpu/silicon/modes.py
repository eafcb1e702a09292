"""What a mode is in options of `sassafras schedule`, and rescheduling files by it."""

from __future__ import annotations

import hashlib
import re
import shlex
import subprocess
from pathlib import Path


def flags(mode: str) -> list[str]:
    """`default`, `rebuild` (the same order, control fields of our own), `serial`, `shuffleN`, or the name of a strategy."""
    if mode == "default":
        return []
    if mode == "rebuild":
        return ["--strategy", "original", "--control", "rebuild"]
    if mode == "serial":
        return ["--control", "serial"]
    seed = re.fullmatch(r"shuffle(\d+)", mode)
    return ["--strategy", "shuffle", "--seed", seed[1]] if seed else ["--strategy", mode]


def sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def schedule(sassafras: Path, source: Path, target: Path, mode: str, extra: str = "", limit: float = 3600) -> str:
    """Reschedules a file; returns what was printed. Fails where nothing was written."""
    target.unlink(missing_ok=True)
    words = [sassafras, "schedule", source, "-o", target, *flags(mode), *shlex.split(extra)]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=limit)
    if done.returncode or not target.exists():
        raise SystemExit(f"{shlex.join(map(str, words))}: exit status {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout
