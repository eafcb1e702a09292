"""Tables of what was caught, and the survivors with the code they live in."""

import collections

from mutants import COMPARED

import mutants

CAUGHT = ("exact", "near", "elsewhere")


def _rate(outcomes):
    caught = sum(o.verdict in CAUGHT for o in outcomes)
    return caught, 100 * caught / len(outcomes) if outcomes else 100.0


def _table(title, columns, outcomes, key):
    groups = collections.defaultdict(list)
    for outcome in outcomes:
        groups[key(outcome.mutant)].append(outcome)
    lines = [f"## {title}", "", "| " + " | ".join([*columns, "mutants", "caught", "exact", "rate"]) + " |"]
    lines.append("|" + "---|" * (len(columns) + 4))
    for name, group in sorted(groups.items()):
        caught, rate = _rate(group)
        exact = sum(o.verdict == "exact" for o in group)
        cells = [*map(str, name), str(len(group)), str(caught), str(exact), f"{rate:.2f} %"]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def write(folder, outcomes):
    """Writes `result.md` and `survivors.txt`; returns the catch rate in percent, order swaps aside."""
    timing = [o for o in outcomes if o.mutant.kind not in COMPARED]
    orders = [o for o in outcomes if o.mutant.kind in COMPARED]
    caught, rate = _rate(timing)
    verdicts = collections.Counter(o.verdict for o in timing)
    lines = [f"# {caught} of {len(timing)} mutants caught: {rate:.2f} %", ""]
    lines += [", ".join(f"{name} {count}" for name, count in sorted(verdicts.items())), ""]
    if orders:
        found, share = _rate(orders)
        lines += [f"Order swaps and acquires, with `--against`: {found} of {len(orders)} ({share:.2f} %).", ""]
    rule = lambda m: m.hazards[0].rule
    lines += _table("By kind", ["kind", "rule"], timing, lambda m: (m.kind, rule(m)))
    lines += _table("By architecture", ["arch"], timing, lambda m: (f"sm_{m.arch}",))
    lines += _table(
        "By kind, register file and producer", ["kind", "file", "producer"], timing,
        lambda m: (m.kind, m.register_file, mutants.opcode_class(m.producer)),
    )
    lines += _table("By producer's opcode", ["opcode", "rule"], timing, lambda m: (m.producer, rule(m)))
    (folder / "result.md").write_text("\n".join(lines))
    with open(folder / "survivors.txt", "w") as out:
        for outcome in outcomes:
            if outcome.verdict in CAUGHT:
                continue
            m = outcome.mutant
            reason = m.hazards[0].reason if m.hazards else m.detail
            out.write(f"#{m.id} {outcome.verdict} sm_{m.arch} {m.kind} ({m.detail}): {reason}\n")
            out.write(f"  {m.path} {m.kernel}\n")
            if outcome.verdict == "failed":
                out.write(f"  {outcome.reported[0]}\n")
            out.writelines(f"    {line}\n" for line in m.texts)
            out.write("\n")
    print("\n".join(lines[:5]))
    return rate
