"""Limits, statuses, and files that stay small."""

import random
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import broken
import brokenfile
import containers
import elf
import test_elf


class Ends(unittest.TestCase):
    def test_statuses(self):
        for status in (0, 1, 2):
            self.assertEqual(broken.fault(status, "error: no", 0.1), "")
        self.assertIn("panic", broken.fault(101, "thread 'main' panicked at src/x.rs", 0.1))
        self.assertIn("status", broken.fault(101, "", 0.1))
        self.assertIn("status", broken.fault(-11, "", 0.1))
        self.assertIn("memory", broken.fault(-6, "memory allocation of 8 bytes failed", 0.1))
        self.assertIn("over 10 s", broken.fault(-24, "", 9.9))

    def test_limits_are_kept(self):
        status, said, seconds = broken.run([sys.executable, "-c", "while True: pass"], seconds=1)
        self.assertNotEqual(broken.fault(status, said, seconds, 1), "")
        status, _, _ = broken.run([sys.executable, "-c", "x = bytearray(1 << 30)"], size=1 << 28)
        self.assertNotEqual(status, 0)
        self.assertEqual(broken.run([sys.executable, "-c", "raise SystemExit(2)"])[0], 2)


class Results(unittest.TestCase):
    def test_what_is_handed_on_as_it_came_has_to_be_said_so(self):
        said = b"2 kernels, 2 kept with a reason; 0 of 9 instructions moved; nothing changed, and nothing was checked\n"
        self.assertTrue(broken.handed_on(said, b"file", b"file"))
        self.assertFalse(broken.handed_on(said, b"file", b"other"))
        self.assertFalse(broken.handed_on(b"2 kernels; 1 verified", b"file", b"file"))

    def test_kernels_that_stay_are_counted(self):
        self.assertTrue(broken.KEPT.search(b"3 kernels, 1 kept with a reason; 13 of 40 instructions moved"))
        self.assertFalse(broken.KEPT.search(b"3 kernels, 0 kept with a reason; 13 of 40 instructions moved"))

    def test_what_a_command_prints_can_be_had(self):
        with tempfile.TemporaryFile() as printed:
            self.assertEqual(broken.run([sys.executable, "-c", "print(7)"], out=printed)[0], 0)
            printed.seek(0)
            self.assertEqual(printed.read().strip(), b"7")


class Files(unittest.TestCase):
    CUBIN = test_elf.cubin({".text.a": b"x" * 320, ".nv.info.a": bytes((4, 0x2F, 4, 0, 7, 0, 0, 0)), ".data": b"y" * 8})

    def test_nothing_grows_beyond_the_bound(self):
        for seed in range(300):
            _, data = brokenfile.binary(self.CUBIN, random.Random(seed))
            self.assertLessEqual(len(data), brokenfile.MOST)
            _, data = brokenfile.text(b"func f {\n a = b 1\n}\n" * 20, random.Random(seed))
            self.assertLessEqual(len(data), brokenfile.MOST)

    def test_the_same_seed_gives_the_same(self):
        self.assertEqual(brokenfile.binary(self.CUBIN, random.Random(3)), brokenfile.binary(self.CUBIN, random.Random(3)))

    def test_long_code_is_where_the_header_says(self):
        data = brokenfile.long_code(self.CUBIN, b"c" * 4096)
        start, size = elf.text_sections(data)["a"]
        self.assertEqual(data[start : start + size], b"c" * 4096)

    def test_heavy_files(self):
        texts = [("sir", b"func f {\n a = b\n}\n")]
        made = brokenfile.heavy([(90, self.CUBIN)], texts, random.Random(1), [(containers.LZ4, 1)], [(3, 1)])
        self.assertTrue(all(len(data) <= brokenfile.MOST for _, _, data in made))
        packed = next(data for name, _, data in made if "MiB of zeros in" in name)
        entry = containers.all_fatbinaries(packed)[0].entries[0]
        self.assertGreater(entry.size, 1 << 20)
        self.assertLess(entry.size, 130 * len(entry.stored), "as far as readers go")
        behind = next(data for name, _, data in made if "MiB of zeros behind it in" in name)
        self.assertGreater(containers.all_fatbinaries(behind)[0].entries[0].size, 1 << 20)

    def test_many_images_are_no_two_alike_and_end_as_they_should(self):
        data = brokenfile.many(90, self.CUBIN, 3, 1, random.Random(1))
        if data is None:
            self.skipTest("no zstd on this machine")
        codes = []
        for entry in containers.all_fatbinaries(data)[0].entries:
            image = containers.unpacked(data, entry)
            start, size = elf.text_sections(image)["a"]
            self.assertEqual(size % 320, 0)
            codes.append(image[start : start + size])
        self.assertEqual(len(set(codes)), 3)
        self.assertGreater(min(map(len, codes)), 1_000_000)

    def test_large_images_are_as_large_as_readers_take_them(self):
        for compression, megabytes in brokenfile.BOMBS[:-1]:
            size = megabytes << 20
            freight = brokenfile.freight(compression, size)
            self.assertLess(freight, brokenfile.MOST * 9 // 10)
            self.assertLessEqual(size + freight, (64 << 20) + 128 * freight)
        compression, megabytes = brokenfile.BOMBS[-1]
        size = megabytes << 20
        self.assertGreater(size, (64 << 20) + 128 * brokenfile.MOST, "no file has room for it")


if __name__ == "__main__":
    unittest.main()
