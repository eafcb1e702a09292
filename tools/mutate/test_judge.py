"""What the judge may and may not call unsafe, on a few instructions at a time."""

import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import campaign
import check
import control
import evidence
import flow
import judge
import mutants
import rules
import sasstext
import spacing


def registers(text):
    """`"R2 P0"` as a set."""
    return {(r.rstrip("0123456789"), int(r.lstrip("URP"))) for r in text.split()}


def code(*rows):
    """A block from rows (text, written, read, stall, write board, read board, waits); the last four may be left out."""
    block = []
    for n, (text, writes, reads, *fields) in enumerate(rows):
        stall, write, read, waits = (*fields, *(1, 7, 7, ())[len(fields) :])
        word = n + 1
        for field, value in (
            (control.STALL, stall), (control.WRITE, write), (control.READ, read),
            (control.WAIT, sum(1 << b for b in waits)),
        ):
            word = control.put(word, field, value)
        guard, opcode, operands = sasstext.parse_text(text)
        made = sasstext.Instruction(16 * n, text, word, guard, opcode, operands)
        sasstext._correct(made, registers(reads), registers(writes))
        made.set_control()
        assert made.trusted, text
        block.append(made)
    return block


def known():
    """Rules as they might be learnt."""
    made = rules.Rules()
    made.variable = {"LDG", "LDS", "MUFU"}
    made.decoupled = made.variable | {"STG"}
    made.boards = {
        ("RAW", "LDG", "R", "board"), ("RAW", "LDG", "R", "none"), ("RAW", "LDS", "R", "board"),
        ("RAW", "LDS", "R", "none"), ("WAW", "LDG", "R", "board"), ("WAR", "STG", "R", "op1"),
    }
    made.floors = {("FADD", "FADD", "R", ((0, "op1", 0),)): (4, 100, 50), ("ISETP", "BRA", "P", ((0, "guard", 0),)): (13, 100, 50)}
    made.wait_needs_two = True
    return made


def found(*rows):
    return [(h.rule, h.kind, h.register, h.producer, h.consumer) for h in judge.hazards(known(), code(*rows))]


LOAD = ("LDG.E R4, [R2]", "R4", "R2", 2, 0)
USE = "FADD R6, R4, R5", "R6", "R4 R5"


class Scoreboards(unittest.TestCase):
    def test_covered(self):
        self.assertEqual(found(LOAD, (*USE, 4, 7, 7, (0,))), [])

    def test_no_wait(self):
        self.assertEqual(found(LOAD, USE), [("scoreboard", "RAW", "R4", 0, 16)])

    def test_wait_for_another_board(self):
        self.assertEqual(len(found(LOAD, (*USE, 4, 7, 7, (1,)))), 1)

    def test_a_wait_in_between_counts(self):
        self.assertEqual(found(LOAD, ("NOP", "", "", 1, 7, 7, (0,)), USE), [])

    def test_wait_one_cycle_after(self):
        load = (*LOAD[:3], 1, 0)
        self.assertEqual(found(load, (*USE, 4, 7, 7, (0,))), [("set-to-wait", "RAW", "R4", 0, 16)])

    def test_a_later_load_of_the_pipe_covers(self):
        silent = ("LDS R4, [R2]", "R4", "R2", 2)
        later = ("LDS R8, [R3]", "R8", "R3", 2, 1)
        self.assertEqual(found(silent, later, (*USE, 4, 7, 7, (1,))), [])
        self.assertEqual(len(found(silent, later, USE)), 1)

    def test_an_earlier_one_does_not(self):
        self.assertEqual(
            len(found(("LDS R8, [R3]", "R8", "R3", 2, 1), ("LDS R4, [R2]", "R4", "R2", 2), (*USE, 4, 7, 7, (1,)))), 1
        )

    def test_overwriting_a_result(self):
        self.assertEqual(found(LOAD, ("MOV R4, RZ", "R4", "")), [("scoreboard", "WAW", "R4", 0, 16)])

    def test_overwriting_a_source(self):
        store = ("STG.E [R2], R4", "", "R2 R4", 2, 7, 1)
        self.assertEqual(found(store, ("MOV R4, RZ", "R4", "")), [("scoreboard", "WAR", "R4", 0, 16)])
        self.assertEqual(found(store, ("MOV R4, RZ", "R4", "", 1, 7, 7, (1,))), [])
        # No rule for this role: silence.
        self.assertEqual(found(store, ("MOV R2, RZ", "R2", "")), [])

    def test_overwriting_a_guard_is_none(self):
        learnt = known()
        learnt.boards.add(("WAR", "STG", "P", "guard"))
        block = code(("@P0 STG.E [R2], R4", "", "R2 R4 P0", 2, 7, 1), ("ISETP.EQ P0, PT, R9, RZ, PT", "P0", "R9"))
        self.assertEqual(judge.hazards(learnt, block), [])

    def test_complementary_guards_are_no_hazard(self):
        self.assertEqual(found(("@P0 LDG.E R4, [R2]", "R4", "R2 P0", 2, 0), ("@!P0 FADD R6, R4, R5", "R6", "R4 R5 P0")), [])

    def test_the_same_guard_is(self):
        guarded = ("@P0 LDG.E R4, [R2]", "R4", "R2 P0", 2, 0)
        use = ("@P0 FADD R6, R4, R5", "R6", "R4 R5 P0")
        self.assertEqual(len(found(guarded, use)), 1)
        self.assertEqual(found(guarded, ("ISETP.EQ P0, PT, R9, RZ, PT", "P0", "R9"), use), [])

    def test_a_drain_covers(self):
        self.assertEqual(found((*LOAD[:3], 0, 0), USE), [])


class Distances(unittest.TestCase):
    def test_floor(self):
        first = "FADD R4, R1, R2", "R4", "R1 R2"
        self.assertEqual(found((*first, 4), USE), [])
        self.assertEqual(found((*first, 3), USE), [("distance", "RAW", "R4", 0, 16)])
        self.assertEqual(found((*first, 1), ("NOP", "", "", 3), USE), [])

    def test_a_wait_takes_time(self):
        self.assertEqual(found(("FADD R4, R1, R2", "R4", "R1 R2", 1), (*USE, 4, 7, 7, (2,))), [])

    def test_other_operand_has_no_floor(self):
        self.assertEqual(found(("FADD R5, R1, R2", "R5", "R1 R2", 1), USE), [])

    def test_guard_of_a_branch(self):
        branch = "@P0 BRA 0x0", "", "P0"
        self.assertEqual(len(found(("ISETP.EQ P0, PT, R9, RZ, PT", "P0", "R9", 12), branch)), 1)
        self.assertEqual(found(("ISETP.EQ P0, PT, R9, RZ, PT", "P0", "R9", 13), branch), [])


class Spacings(unittest.TestCase):
    FLOORS = {
        ("pipe", "MUFU", "MUFU", ""): (8, 300, 50), ("settle", "arithmetic", "BSYNC", ""): (2, 50, 20),
        ("overwritten", "arithmetic", "memory", "R"): (2, 300, 50), ("overwritten", "uniform", "early", "UR"): (3, 50, 20),
        ("overwritten", "HMMA.16816.F32", "fixed", "R"): (7, 50, 20), ("addend", "HMMA.16816", "adds", "R"): (24, 50, 20),
    }
    MATRIX = "HMMA.16816.F32 R4, R8, R12, R4", "R4 R5 R6 R7", "R4 R5 R6 R7 R8 R9 R10 R11 R12 R13"

    def broken(self, *rows):
        learnt = known()
        learnt.spacings = self.FLOORS
        return [(h.rule, h.register, h.producer, h.consumer, h.given) for h in judge.hazards(learnt, code(*rows))]

    def test_pipe(self):
        one, two = ("MUFU.EX2 R9, R8", "R9", "R8"), ("MUFU.EX2 R11, R10", "R11", "R10", 1, 0)
        self.assertEqual(self.broken((*one, 8), two), [])
        self.assertEqual(self.broken((*one, 7), two), [("pipe", "", 0, 16, 7)])
        self.assertEqual(self.broken((*one, 1), ("NOP", "", "", 6), two), [("pipe", "", 0, 32, 7)])
        self.assertEqual(self.broken((*one, 7), ("@!PT " + two[0], *two[1:])), [], "never runs")

    def test_settle(self):
        for stall, expected in ((2, []), (1, [("settle", "", 0, 16, 1)])):
            self.assertEqual(self.broken(("IADD3 R4, R5, R6, RZ", "R4", "R5 R6", stall), ("BSYNC B0", "", "")), expected)

    def test_a_block_goes_on_to_its_bsync(self):
        first, turn, other = code(("IADD3 R4, R5, R6, RZ", "R4", "R5 R6", 1), ("BSYNC B0", "", ""), ("NOP", "", ""))
        kernel = sasstext.Kernel("k", [[first], [turn], [other]])
        campaign.join_turns(kernel)
        self.assertEqual(kernel.blocks, [[first, turn], [turn], [other]])

    def test_overwritten_by_a_load(self):
        load = "LDG.E R5, [R2]", "R5", "R2", 2, 0
        for stall, expected in ((2, []), (1, [("overwritten", "R5", 0, 16, 1)])):
            self.assertEqual(self.broken(("FADD R4, R5, R6", "R4", "R5 R6", stall), load), expected)
        self.assertEqual(self.broken(("FADD R4, R5, R6", "R4", "R5 R6", 1), (*load, 7, (3,))), [], "a wait takes time")

    def test_uniform(self):
        for stall, expected in ((3, []), (2, [("overwritten", "UR5", 0, 16, 2)])):
            first = "UIADD3 UR4, UR5, UR6, URZ", "UR4", "UR5 UR6", stall
            self.assertEqual(self.broken(first, ("UMOV UR5, UR8", "UR5", "UR8")), expected)

    def test_matrix(self):
        for stall, expected in ((7, []), (6, [("overwritten", "R9", 0, 16, 6)])):
            self.assertEqual(self.broken((*self.MATRIX, stall), ("MOV R9, R20", "R9", "R20")), expected)
        boarded = (*self.MATRIX, 6, 7, 0)
        self.assertEqual(self.broken(boarded, ("MOV R9, R20", "R9", "R20")), [], "it says itself when it is done")
        for stall, expected in ((9, []), (8, [("addend", "R4", 0, 32, 23)])):
            self.assertEqual(self.broken((*self.MATRIX, 15), ("NOP", "", "", stall), self.MATRIX), expected)

    def test_learning(self):
        before = ("NOP", "", "", 1), ("MOV R9, RZ", "R9", "", 1), ("FADD R9, R8, R8", "R9", "R8", 1)
        kernels = [
            sasstext.Kernel(f"k{n}", [code(
                ("LDG.E R20, [R2]", "R20", "R2", 2, 0), ("NOP", "", "", 1, 7, 7, (0,)), before[n % 3],
                ("FADD R4, R5, R6", "R4", "R5 R6", 2), ("LDG.E R5, [R2]", "R5", "R2", 2, 0), ("NOP", "", "", 1, 7, 7, (0,)),
            )]) for n in range(30)
        ]
        learnt = evidence.Evidence().learn(kernels)
        key = ("overwritten", "arithmetic", "memory", "R")
        self.assertEqual(learnt.spacings[key], (2, 30, 30))
        self.assertEqual(rules.Rules.from_json(learnt.to_json()).spacings, learnt.spacings)
        self.assertEqual(evidence.Evidence().learn(kernels[:2]).spacings, {}, "few kernels prove nothing")
        self.assertTrue(all(k[0] in spacing.RULES for k in learnt.spacings))


class Turns(unittest.TestCase):
    def test_what_takes_its_time_has_a_rule_per_opcode(self):
        learnt = known()
        store, load = ("STG.E [R2], R4", "", "R2 R4", 2, 7, 1), ("LDG.E R4, [R8]", "R4", "R8", 2, 0)
        self.assertEqual(judge.hazards(learnt, code(store, load)), [])
        learnt.boards.add(("WAR", "STG", "R", "op1", "LDG"))
        self.assertEqual([h.rule for h in judge.hazards(learnt, code(store, load))], ["scoreboard"])
        self.assertEqual(judge.hazards(learnt, code(store, (*load[:5], 7, (1,)))), [])


class Learning(unittest.TestCase):
    def kernels(self, stall, waits=(0,)):
        before = ("NOP", "", "", 1), ("MOV R9, RZ", "R9", "", 1), ("MUFU.EX2 R9, R8", "R9", "R8", 1)
        for n in range(30):
            block = code(
                LOAD, (*USE, 1, 7, 7, waits), before[n % 3],
                ("FADD R4, R1, R2", "R4", "R1 R2", stall), ("FADD R6, R4, R5", "R6", "R4 R5", 1),
                ("FADD R7, R8, R9", "R7", "R8 R9", 1), ("NOP", "", "", 1),
            )
            yield sasstext.Kernel(f"k{n}", [block])

    def test_learns_a_floor_and_a_scoreboard(self):
        learnt = evidence.Evidence().learn(self.kernels(4))
        self.assertEqual(learnt.floors["FADD", "FADD", "R", ((0, "op1", 0),)][0], 4)
        self.assertIn(("RAW", "LDG", "R", "board"), learnt.boards)
        self.assertTrue(learnt.wait_needs_two)
        for kernel in self.kernels(4):
            self.assertEqual(judge.hazards(learnt, kernel.blocks[0]), [])

    def test_one_exception_takes_the_rule_away(self):
        kernels = [*self.kernels(4), *list(self.kernels(4, ()))[:1]]
        self.assertNotIn(("RAW", "LDG", "R", "board"), evidence.Evidence().learn(kernels).boards)

    def test_few_kernels_prove_nothing(self):
        learnt = evidence.Evidence().learn(list(self.kernels(4))[:2])
        self.assertEqual((learnt.floors, learnt.boards), ({}, set()))

    def test_stored_rules_come_back(self):
        learnt = evidence.Evidence().learn(self.kernels(4))
        again = rules.Rules.from_json(learnt.to_json())
        self.assertEqual(vars(again), vars(learnt))


class Making(unittest.TestCase):
    BLOCK = (
        LOAD, (*USE, 4, 7, 7, (0,)), ("FADD R7, R6, R1", "R7", "R6 R1", 5), ("STG.E [R2], R7", "", "R2 R7", 2, 7, 1),
        ("MOV R7, RZ", "R7", "", 1, 7, 7, (1,)),
    )

    def made(self, i):
        kernel = sasstext.Kernel("k", [code(*self.BLOCK)])
        return list(mutants.Maker(known(), random.Random(1)).at(kernel, kernel.blocks[0], i))

    def test_kinds(self):
        kinds = {(m.kind, m.detail) for i in range(5) for m in self.made(i)}
        for expected in (
            ("stall", "less 1"), ("stall", "to 1"), ("wait", "drop 0"), ("wait", "drop 1"), ("board", "write 0 to none"),
            ("board", "read 1 to none"),
        ):
            self.assertIn(expected, kinds)
        self.assertIn("swap", {m.kind for i in range(5) for m in self.made(i)})

    def test_one_field_changes(self):
        for i in range(5):
            for mutant in self.made(i):
                for _, old, new in mutant.changes:
                    self.assertNotEqual(old, new)
                    if len(mutant.changes) == 1:
                        self.assertEqual(control.put(old, control.ALL, 0), control.put(new, control.ALL, 0))

    def test_swapped_words(self):
        swap = next(m for m in self.made(1) if m.kind in ("swap", "order"))
        (_, old, new), (_, other, last) = swap.changes
        strip = lambda word: control.put(word, control.ALL, 0)
        self.assertEqual((strip(new), strip(last)), (strip(other), strip(old)))

    def test_records_come_back(self):
        for mutant in self.made(0) + self.made(1):
            self.assertEqual(mutants.Mutant.from_record(mutant.record()).record(), mutant.record())

    def test_deterministic(self):
        listing = sasstext.Listing(90, [sasstext.Kernel("k", [code(*self.BLOCK)])])
        first, second = ([m.record() for m in mutants.sample(known(), {"f": listing}, 20, 7)[0]] for _ in range(2))
        self.assertEqual(first, second)
        self.assertTrue(first)


class Checking(unittest.TestCase):
    def mutant(self):
        kernel = sasstext.Kernel("k", [code(*Making.BLOCK)])
        return next(m for m in mutants.Maker(known(), random.Random(1)).at(kernel, kernel.blocks[0], 1) if m.kind == "wait")

    def report(self, consumer, producer):
        return {"offset": consumer, "producer": producer, "kind": "raw", "register": "r4", "needed": "scoreboard", "given": 2}

    def test_verdicts(self):
        mutant = self.mutant()
        self.assertEqual(check.classify(mutant, [], [self.report(16, 0)]).verdict, "exact")
        self.assertEqual(check.classify(mutant, [], [self.report(32, 4096)]).verdict, "near")
        self.assertEqual(check.classify(mutant, [], [self.report(4096, 8192)]).verdict, "elsewhere")
        self.assertEqual(check.classify(mutant, [], []).verdict, "missed")

    def test_what_the_original_reports_does_not_count(self):
        self.assertEqual(check.classify(self.mutant(), [self.report(16, 0)], [self.report(16, 0)]).verdict, "missed")

    def test_one_mutant_per_kernel_and_file(self):
        some = [self.mutant() for _ in range(3)]
        self.assertEqual([len(batch) for _, batch in check.batches(some)], [1, 1, 1])


class Flow(unittest.TestCase):
    def test_unknown_instruction_ends_the_search(self):
        block = code(LOAD, ("NOP", "", "", 1), USE)
        block[1].trusted = False
        self.assertEqual(list(flow.pairs(block, 0)), [])


if __name__ == "__main__":
    unittest.main()
