#!/usr/bin/env python3
"""What all parts of `cargo xtask silicon` found, in one table: part, mode, cases, equal, different, crashes, commit.

    summary.py FILE …                          # summaries that the parts wrote; the exit status is 0 only where all is well
    summary.py --rows RESULT.json --part NAME --commit C --out FILE     # makes one from rows of rare.py or suite.py
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
from pathlib import Path

CRASHES = ("error", "hang", "schedule-failed", "unstable")
NAMES = 6  # that are printed; the files hold all


def row(part: str, mode: str, verdict: dict, commit: str, note: str) -> dict:
    """A row from a verdict of cases.compare."""
    crashes = [*verdict["crashes"], *verdict["errors"], *(f"{case}: missing" for case in verdict["missing"])]
    counts = {key: verdict[key] for key in ("cases", "equal", "different")}
    unsteady = [f"{case} ({results} results)" if results > 1 else case for case, results in verdict["unsteady"].items()]
    return {"part": part, "mode": mode, **counts, "unsteady": len(unsteady), "without_us": unsteady, "crashes": crashes, "commit": commit, "note": note}


def from_rows(part: str, rows: list[dict], commit: str) -> list[dict]:
    """Rows from those of single cubins: code that stayed the same is no case."""
    found: dict[str, dict] = {}
    same: collections.Counter = collections.Counter()
    for entry in rows:
        made = found.setdefault(
            entry["mode"],
            {"part": part, "mode": entry["mode"], "cases": 0, "equal": 0, "different": [], "unsteady": 0, "crashes": [], "commit": commit},
        )
        name = f"{entry['kernel']}.{entry['build']}"
        status = entry["status"]
        if status == "same":
            same[entry["mode"]] += 1
            continue
        made["cases"] += 1
        if status == "equal":
            made["equal"] += 1
        elif status == "different":
            made["different"].append(name)
        else:
            made["crashes"].append(f"{name}: {status}")
    return [made | {"note": f"{same[mode]} not changed"} for mode, made in found.items()]


def passed(made: dict) -> bool:
    """At least one case, all of them equal."""
    return made["cases"] > 0 and made["equal"] == made["cases"] and not made["different"] and not made["crashes"] and not made.get("failed")


def names(found: list[str]) -> str:
    more = f" and {len(found) - NAMES} more" if len(found) > NAMES else ""
    return ", ".join(found[:NAMES]) + more


def table(rows: list[dict]) -> str:
    """For people."""
    lines = [f"{'part':14} {'mode':10} {'cases':>7} {'equal':>7} {'differ':>6} {'crash':>5} {'unsteady':>8}  {'commit':9} note"]
    for made in rows:
        lines.append(
            f"{made['part']:14} {made['mode']:10} {made['cases']:7} {made['equal']:7} {len(made['different']):6} {len(made['crashes']):5} "
            f"{made['unsteady']:8}  {made['commit'][:9]:9} {'FAILED: ' if made.get('failed') else ''}{made['note']}"
        )
        if made["different"]:
            lines.append(f"    different: {names(made['different'])}")
        if made["crashes"]:
            lines.append(f"    crashes: {names(made['crashes'])}")
        if made.get("without_us"):
            lines.append(f"    differ without us: {names(made['without_us'])}")
    return "\n".join(lines)


def write(path: Path, rows: list[dict]) -> None:
    path.write_text(json.dumps(rows, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--part", default="rare")
    parser.add_argument("--commit", default="?")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.rows:
        rows = from_rows(options.part, json.loads(options.rows.read_text()), options.commit)
        if options.out:
            write(options.out, rows)
    else:
        rows = [made for path in options.files for made in json.loads(path.read_text())]
    print(table(rows))
    return 0 if rows and all(passed(made) for made in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
