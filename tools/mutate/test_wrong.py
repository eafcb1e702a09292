"""Damage and proofs on files built by hand and on nvdisasm's text (`fixtures/clamp.txt`)."""

import random
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import brokenfile
import containers
import control
import elf
import proof
import sasstext
import test_elf
import values
import wrong
import wrongcode
import wrongfile

FIXTURE = Path(__file__).parent / "fixtures" / "clamp.txt"
PTX = """.version 8.0
.target sm_80
.entry k(.param .u64 p)
{
	ld.param.u64 	%rd1, [p];
	add.s32 	%r1, %r2, 4; // four
	mul.lo.s32 	%r3, %r4, %r5;
	st.global.u32 	[%rd1], %r1;
	st.global.u32 	[%rd1+4], %r3;
	atom.global.add.u32 	%r9, [%rd1], 1;
	ret;
}
"""


def kernel():
    return sasstext.parse(FIXTURE.read_text().splitlines()).kernels[0]


def swapped(block, i, j):
    """The block with two instructions exchanged."""
    out = list(block)
    out[i], out[j] = block[j].with_word(block[j].word, block[i].offset), block[i].with_word(block[i].word, block[j].offset)
    return out


def made(*texts, results=0):
    """A block of instructions, so many of whose first operands are written."""
    block = []
    for n, text in enumerate(texts):
        guard, opcode, operands = sasstext.parse_text(text)
        i = sasstext.Instruction(16 * n, text, sum(map(ord, text)), guard, opcode, operands)
        registers = [{r[:2] for r in o.registers} for o in operands]
        i.writes, i.reads = (frozenset().union(*found) for found in (registers[:results], registers[results:]))
        if guard:
            i.reads |= {("P", int(guard[-1]))}
        block.append(i)
    return block


class Code(unittest.TestCase):
    def test_every_kind_changes_code_inside_the_kernel(self):
        code = kernel()
        offsets = {i.offset for i in code.instructions()}
        made = set()
        for kind, make in wrongcode.KINDS.items():
            for seed in range(20):
                found = make(code, random.Random(seed))
                if found and any(wrongcode.CODE & (word ^ self.word(code, at)) for at, word in found[1].items()):
                    made.add(kind)
                    self.assertLessEqual(set(found[1]), offsets, kind)
        rare = {"swap WAR", "swap WAW", "swap memory", "swap fence", "rename onto live", "rename beyond"}
        self.assertLessEqual(set(wrongcode.KINDS) - made, rare, "a small kernel does not have these")

    @staticmethod
    def word(code, offset):
        return next(i.word for i in code.instructions() if i.offset == offset)

    def test_dependent_neighbours_are_not_the_same(self):
        block = kernel().blocks[0]
        self.assertTrue(values.same(block, block, None))
        self.assertFalse(values.same(block, swapped(block, 2, 3), None), "S2R R3 and its reader")
        self.assertTrue(values.same(block, swapped(block, 1, 2), None), "two special registers")

    def test_memory_keeps_its_order_where_it_matters(self):
        for first, second, same in (
            ("STS [R4], R0", "STS [R4+0x4], R1", True),
            ("STS.64 [R4], R0", "STS [R4+0x4], R1", False),
            ("STS [R4], R0", "STS [R5+0x4], R1", False),
            ("STS [R4], R0", "STL [R5+0x4], R1", True),
            ("STG.E.STRONG.GPU [R4], R0", "STG.E [R4+0x4], R1", False),
            ("STS [R4], R0", "BAR.SYNC 0x0", False),
            ("@P0 STS [R4], R0", "@!P0 STS [R4], R1", True),
            ("RED.E.MIN.S32.STRONG.GPU [R4.64+-0x8], R0", "RED.E.MAX.S32.STRONG.GPU [R4.64+-0x4], R1", True),
            ("RED.E.MIN.S32.STRONG.GPU [R4.64], R0", "RED.E.MAX.S32.STRONG.GPU [R4.64], R1", False),
            ("ATOMS.AND RZ, [UR4+0x18], R0", "ATOMS.AND RZ, [UR4+0x14], R1", True),
            ("ATOMS.AND R7, [UR4+0x18], R0", "ATOMS.AND RZ, [UR4+0x14], R1", False),
            ("RED.E.ADD.STRONG.SYS [R4.64], R0", "RED.E.ADD.STRONG.SYS [R4.64+0x4], R1", False),
        ):
            block = made(first, second)
            self.assertEqual(values.same(block, swapped(block, 0, 1), None), same, f"{first} | {second}")

    def test_under_the_guard_of_its_write_nothing_older_is_read(self):
        last = "@{} IADD3 R6, R3, R9, RZ"
        for guard, same in (("!P3", True), ("P3", False), ("P2", False)):
            code = made("@!P3 IADD3 R3, R4, R5, RZ", last.format(guard), results=1)
            other = made("IADD3 R3, R7, R8, RZ", "@!P3 IADD3 R3, R4, R5, RZ", last.format(guard), results=1)
            self.assertEqual(values.same(code, other, {("R", 6)}), same, guard)
            blocks = [made("NOP"), [i.with_word(i.word, i.offset + 16) for i in code]]
            wanted = proof._wanted(sasstext.Kernel("k", blocks, {}), blocks)
            self.assertEqual(("R", 3) not in wanted[0], same, guard)

    def test_what_nobody_wants_may_differ(self):
        code = kernel()
        wanted = proof._wanted(code, proof._joined(code))
        self.assertNotIn(("R", 1), wanted[0], "the stack's register is never read")
        self.assertIn(("R", 0), wanted[0])
        self.assertEqual(wanted[0x150], set(), "behind a branch to itself")

    def test_control_fields_to_the_safe_side(self):
        word = control.put(control.put(0, control.STALL, 4), control.WAIT, 0b11)
        self.assertTrue(proof._safer(word, control.put(word, control.STALL, 5)))
        self.assertTrue(proof._safer(word, control.put(word, control.WAIT, 0b111)))
        self.assertFalse(proof._safer(word, control.put(word, control.STALL, 3)))
        self.assertFalse(proof._safer(word, control.put(word, control.WAIT, 0b1)))
        self.assertFalse(proof._safer(word, control.put(word, control.REUSE, 1)))


class Files(unittest.TestCase):
    def test_padding_and_what_is_covered(self):
        data = bytearray(test_elf.cubin({".text.a": b"x" * 32, ".data": b"y" * 8}) + b"zzzz")
        prover = proof.Prover(None, {})
        good = bytes(data)
        data[-1] ^= 1
        self.assertEqual(prover.proof(good, bytes(data)), "padding")
        for place in (20, elf.sections(good)[2].offset, elf.sections(good)[1].header + 8):
            data = bytearray(good)
            data[place] ^= 1
            self.assertIsNone(prover.proof(good, bytes(data)), hex(place))

    def test_payloads_that_say_the_same(self):
        image = test_elf.cubin({".text.a": bytes(range(32)) * 20})
        packed = brokenfile.lz4_packed(image)
        self.assertEqual(containers.lz4(packed, len(image)), image)
        # Literals alone are a block, too.
        size = len(image) - 15
        plain = b"\xf0" + b"\xff" * (size // 255) + bytes([size % 255]) + image
        self.assertEqual(containers.lz4(plain, len(image)), image)
        prover = proof.Prover(None, {})
        one = brokenfile.fatbinary([(90, containers.LZ4, packed, len(image))])
        entry = containers.all_fatbinaries(one)[0].entries[0]
        self.assertEqual(containers.unpacked(one, entry), image)
        if len(entry.stored) < len(entry.payload):
            self.assertEqual(prover.proof(one, one[:-1] + b"\x07"), "padding")
        damaged = bytearray(one)
        damaged[16 + 64 + 3] ^= 255
        self.assertIsNone(prover.proof(one, bytes(damaged)))

    def test_damaged_blocks_are_errors(self):
        rng = random.Random(1)
        packed = brokenfile.lz4_packed(bytes(range(256)) * 40)
        for _ in range(500):
            broken = bytearray(packed)
            broken[rng.randrange(len(broken))] = rng.randrange(256)
            try:
                containers.lz4(bytes(broken[: rng.randrange(len(broken) + 1)]), 10240)
            except containers.Damaged:
                pass

    def test_every_kind_changes_the_file(self):
        cubin = test_elf.cubin({".text.a": b"x" * 32, ".nv.info.a": struct.pack("<BBHI", 4, 0x2F, 4, 7), ".data": b"y" * 8})
        for kind, make in wrongfile.CUBIN.items():
            for seed in range(20):
                found = make(cubin, random.Random(seed))
                self.assertTrue(found is None or found[1] != cubin, kind)
        packed = brokenfile.lz4_packed(cubin)
        fatbinary = brokenfile.fatbinary([(90, containers.LZ4, packed, len(cubin)), (80, containers.STORED, cubin, 0)])
        for kind, make in wrongfile.FATBINARY.items():
            found = make(fatbinary, random.Random(1))
            self.assertTrue(found is not None and found[1] != fatbinary or "zstd" in kind, kind)

    def test_archives(self):
        def member(name, data):
            return f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)

        parts = [test_elf.cubin({".data": bytes([n]) * (8 + n)}).replace(struct.pack("<H", 190), struct.pack("<H", 62), 1) for n in (1, 2)]
        archive = containers.ARCHIVE + b"".join(member(f"{n}.o/", part) for n, part in enumerate(parts))
        self.assertEqual([m.size for m in containers.members(archive)], [len(p) for p in parts])
        for kind, make in wrongfile.ARCHIVE.items():
            what, damaged = make(archive, random.Random(1))
            self.assertNotEqual(damaged, archive, kind)
        _, exchanged = wrongfile.member_order(archive, random.Random(1))
        self.assertEqual([m.size for m in containers.members(exchanged)], [len(p) for p in reversed(parts)])


class Text(unittest.TestCase):
    def proof(self, old, new):
        self.assertIn(old, PTX)
        return proof.text(PTX.encode(), PTX.replace(old, new).encode())

    def test_blanks_and_comments(self):
        self.assertEqual(self.proof("// four", "/* 4 */"), "text")
        self.assertEqual(self.proof("add.s32 \t%r1,", "add.s32  %r1 ,"), "text")
        self.assertIsNone(self.proof("%r2, 4;", "%r2, 5;"))

    def test_neighbours(self):
        lines = PTX.split("\n")

        def exchanged(i, j):
            new = lines[:]
            new[i], new[j] = new[j], new[i]
            return proof.text(PTX.encode(), "\n".join(new).encode())

        self.assertIsNotNone(exchanged(5, 6))
        self.assertIsNotNone(exchanged(7, 8), "bytes that do not overlap")
        self.assertIsNone(exchanged(5, 7))
        self.assertIsNone(exchanged(8, 9), "an atomic may meet anything")

    def test_results_that_nobody_reads(self):
        self.assertIsNotNone(self.proof("u32 \t%r9,", "u32 \t%r10,"))
        self.assertIsNone(self.proof("u32 \t%r9,", "u32 \t%r3,"))


class Campaign(unittest.TestCase):
    def test_architectures_in_turn(self):
        paths = [Path(f"sm_{a}/{k}.cubin") for a in (80, 90) for k in range(9)]
        chosen = wrong.spread(paths, 6, random.Random(1))
        self.assertEqual([p.parent.name for p in chosen], ["sm_80", "sm_90"] * 3)

    def test_survivors_are_counted(self):
        base = wrong.Base(Path("a.cubin"), Path("b.cubin"), "height", "cubin", b"")
        outcomes = [wrong.Outcome("bit", base, "", verdict) for verdict in ("compared", "proven", "hidden", "accepted")]
        text, survivors = wrong.table(outcomes, [])
        self.assertEqual(survivors, 2)
        self.assertIn("| bit | 4 | 1 | 0 | 0 | 1 | 1 | 1 | 0 |", text)


if __name__ == "__main__":
    unittest.main()
