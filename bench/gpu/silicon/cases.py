"""Results of cases as digests: reading them, which of them are steady, and how a candidate compares. Needs neither GPU nor PyTorch.

A folder of results holds JSON lines, a file per process:

    {"loaded": ["/…/libtorch_cuda.so"]}                          the files behind PyTorch's GPU code
    {"begin": 3, "op": "sort"}                                   an operator begins
    {"case": "sort|float32|0", "digest": "…", "gradient": "…"}   a result, and that of its gradients; again where a case ran again
    {"case": "sort|float32|1", "error": "RuntimeError: …"}       an exception
    {"dead": "sort: silent for 90 s"}                            the process ended or had to be ended
    {"done": 0}                                                  all operators of this process were seen
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Results:
    """What a folder holds."""

    cases: dict[str, dict] = field(default_factory=dict)  # the last record of each
    deaths: list[str] = field(default_factory=list)
    operators: set[str] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)
    earlier: dict[str, set[tuple]] = field(default_factory=dict)  # results of cases that ran again in the same process

    def of(self, case: str) -> set[tuple]:
        """Every result that a case gave."""
        last = self.cases.get(case, {})
        return self.earlier.get(case, set()) | ({outcome(last)} if "digest" in last else set())


def lines(path: Path) -> list[dict]:
    """The records of a file; a last line that a dying process left unfinished is no record."""
    found = []
    for text in path.read_text().splitlines():
        try:
            found.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return found


def load(folder: Path) -> Results:
    results = Results()
    for path in sorted(folder.glob("*.jsonl")):
        for record in lines(path):
            if "case" in record:
                results.earlier.setdefault(record["case"], set()).update(results.of(record["case"]))
                results.cases[record["case"]] = record
            elif "dead" in record:
                results.deaths.append(record["dead"])
            elif "loaded" in record:
                results.loaded.update(record["loaded"])
            elif "op" in record:
                results.operators.add(record["op"])
    return results


def outcome(record: dict) -> tuple:
    return record.get("digest"), record.get("gradient")


def steady(originals: list[Results]) -> set[str]:
    """The cases that have a result, the same one in every run of the original."""
    first, *others = originals
    with_result = {case for case, record in first.cases.items() if "digest" in record}
    same = lambda other, case: case in other.cases and outcome(other.cases[case]) == outcome(first.cases[case])
    return {case for case in with_result if all(same(other, case) for other in others)}


def compare(originals: list[Results], candidate: Results) -> dict:
    """How many steady cases are equal, and the names of all that are not; of unsteady ones with how many results there are."""
    chosen = steady(originals)
    equal, different, errors, missing = 0, [], [], []
    for case in sorted(chosen):
        record = candidate.cases.get(case)
        if record is None:
            missing.append(case)
        elif "error" in record:
            errors.append(f"{case}: {record['error']}")
        elif outcome(record) == outcome(originals[0].cases[case]):
            equal += 1
        else:
            different.append(case)
    unsteady = {case: len(given(case, originals)) for case, record in originals[0].cases.items() if "digest" in record and case not in chosen}
    return {
        "cases": len(chosen), "equal": equal, "different": different, "errors": errors, "missing": missing,
        "crashes": candidate.deaths, "unsteady": unsteady,
    }  # fmt: skip


def given(case: str, runs: list[Results]) -> set[tuple]:
    """Every result that a case gave in several runs."""
    return set().union(*(run.of(case) for run in runs))


def without(verdict: dict, again: list[Results], candidate: Results, originals: list[Results]) -> dict:
    """The verdict when more runs of the original are known, of what differed: where they give several results, or the one that was called
    different, the case is unsteady. `originals`: earlier runs that had the same inputs."""
    noisy = {}
    for case in verdict["different"]:
        found = given(case, again)
        if len(found | given(case, originals)) > 1 or found & candidate.of(case):
            noisy[case] = len(found | given(case, originals))
    kept = [case for case in verdict["different"] if case not in noisy]
    return verdict | {"different": kept, "cases": verdict["cases"] - len(noisy), "unsteady": noisy | verdict["unsteady"]}


def operators_of(names: list[str]) -> list[str]:
    """The operators of cases."""
    return sorted({name.partition("|")[0] for name in names})


def passed(verdict: dict) -> bool:
    return verdict["cases"] > 0 and not any(verdict[key] for key in ("different", "errors", "missing", "crashes"))
