"""The parser against real output of nvdisasm (`fixtures/clamp.txt`, a kernel of ours for sm_80) and single lines."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import control
import sasstext

FIXTURE = Path(__file__).parent / "fixtures" / "clamp.txt"


def parsed():
    return sasstext.parse(FIXTURE.read_text().splitlines())


class Listing(unittest.TestCase):
    def test_kernel_and_architecture(self):
        found = parsed()
        self.assertEqual(found.arch, 80)
        self.assertEqual([k.name for k in found.kernels], ["clamp"])
        self.assertEqual([i.offset for i in found.kernels[0].instructions()], list(range(0, 0x160, 16)))

    def test_blocks_end_at_control_and_begin_at_labels(self):
        starts = [block[0].offset for block in parsed().kernels[0].blocks]
        self.assertEqual(starts, [0, 0x60, 0x100, 0x120, 0x130, 0x150])

    def test_words(self):
        add = parsed().kernels[0].instructions()[3]
        self.assertEqual(add.word, 0x001FCA00078E0203 << 64 | 0x0000000000007A24)
        self.assertEqual((add.stall, add.write_board, add.read_board, add.waits), (5, 7, 7, 1))

    def test_reads_and_writes_of_every_file(self):
        code = {i.offset: i for i in parsed().kernels[0].instructions()}
        self.assertEqual(code[0x30].reads, {("R", 0), ("R", 3)})
        self.assertEqual(code[0x30].writes, {("R", 0)})
        self.assertEqual(code[0x40].writes, {("P", 0)})
        self.assertEqual(code[0x70].writes, {("UR", 4), ("UR", 5)})
        self.assertEqual(code[0x90].reads, {("R", 2), ("R", 3), ("UR", 4), ("UR", 5)})
        self.assertEqual(code[0xD0].reads, {("R", 0), ("R", 5), ("P", 1)})
        self.assertTrue(all(i.trusted for i in code.values()))

    def test_roles(self):
        code = {i.offset: i for i in parsed().kernels[0].instructions()}
        self.assertEqual(code[0x50].role_read(("P", 0)), ("guard", 0))
        self.assertEqual(code[0x90].role_read(("R", 3)), ("address", 1))
        self.assertEqual(code[0x90].role_read(("UR", 4)), ("desc", 0))
        self.assertEqual(code[0x80].role_written(("R", 3)), ("op0", 1))
        self.assertEqual(code[0x130].role_read(("R", 3)), ("op1", 0))
        self.assertEqual(code[0xD0].role_read(("P", 1)), ("op5", 0))

    def test_a_register_that_the_live_ranges_lack_costs_trust(self):
        lines = FIXTURE.read_text().replace("IMAD R0, R0, c[0x0][0x0], R3", "IMAD R0, R0, c[0x0][0x0], R5").splitlines()
        code = {i.offset: i for i in sasstext.parse(lines).kernels[0].instructions()}
        self.assertFalse(code[0x30].trusted)

    def test_no_architecture(self):
        with self.assertRaises(ValueError):
            sasstext.parse(["nothing"])

    def test_cut_anywhere_it_does_not_crash_but_for_value_errors(self):
        lines = FIXTURE.read_text().splitlines()
        for end in range(len(lines)):
            for part in (lines[:end], lines[end:], lines[:end] + lines[end + 1 :]):
                try:
                    sasstext.parse(part)
                except ValueError:
                    pass


class Text(unittest.TestCase):
    def instruction(self, text, reads, writes, word=0):
        guard, opcode, operands = sasstext.parse_text(text)
        made = sasstext.Instruction(0, text, word, guard, opcode, operands)
        sasstext._correct(made, set(reads), set(writes))
        return made

    def test_guards(self):
        self.assertEqual(sasstext.parse_text("@!UP2 UMOV UR4, 0x1")[:2], ("!UP2", "UMOV"))

    def test_results_that_are_sources_too(self):
        move = self.instruction("MOV R2, R2", {("R", 2)}, {("R", 2)})
        self.assertEqual(move.results(), {0})
        logic = self.instruction("PLOP3.LUT P0, PT, P0, P1, PT, 0x80, 0x0", {("P", 0), ("P", 1)}, {("P", 0)})
        self.assertEqual(logic.results(), {0, 1})
        self.assertEqual(logic.role_read(("P", 0)), ("op2", 0))

    def test_asynchronous_copy_reads_its_predicate(self):
        copy = self.instruction(
            "LDGSTS.E.BYPASS.128 [R5], [R2.64], P1", {("R", 5), ("R", 2), ("R", 3)}, {("P", 1)}
        )
        self.assertIn(("P", 1), copy.reads)
        self.assertEqual(copy.writes, set())

    def test_predicates_moved_as_a_mask(self):
        self.assertEqual(
            self.instruction("P2R R4, PR, RZ, 0x5", set(), {("R", 4)}).reads, {("P", 0), ("P", 2)}
        )
        self.assertEqual(
            self.instruction("R2P PR, R4, 0x42", {("R", 4)}, set()).writes, {("P", 1), ("P", 6)}
        )
        self.assertFalse(self.instruction("P2R.B1 R4, PR, R4, 0x5", {("R", 4)}, {("R", 4)}).trusted)

    def test_depbar_waits(self):
        depbar = self.instruction("DEPBAR.LE SB3, 0x1, {5,2}", set(), set())
        depbar.set_control()
        self.assertEqual(depbar.waits, 0b101100)

    def test_operands_in_brackets_stay_together(self):
        self.assertEqual(sasstext.split_operands("PT, R2, desc[UR4][R6.64+0x8], {1,2}, R3"),
                         ["PT", "R2", "desc[UR4][R6.64+0x8]", "{1,2}", "R3"])


class Fields(unittest.TestCase):
    def test_put_and_get(self):
        word = (1 << 128) - 1
        for field in (control.STALL, control.YIELD, control.WRITE, control.READ, control.WAIT, control.REUSE):
            cleared = control.put(word, field, 0)
            self.assertEqual(control.get(cleared, field), 0)
            self.assertEqual(bin(cleared).count("0") - 1, field[1])
        with self.assertRaises(ValueError):
            control.put(0, control.WRITE, 8)


if __name__ == "__main__":
    unittest.main()
