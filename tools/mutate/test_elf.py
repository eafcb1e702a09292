"""Section headers, and bytes that are none."""

import random
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import elf


def cubin(sections):
    """A minimal ELF64 file with these `{name: bytes}`."""
    names, body, headers = b"\0", b"", [bytes(64)]
    for name, data in sections.items():
        headers.append(struct.pack("<IIQQQQIIQQ", len(names), 1, 0, 0, 64 + len(body), len(data), 0, 0, 0, 0))
        names += name.encode() + b"\0"
        body += data
    headers.append(struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64 + len(body), len(names), 0, 0, 0, 0))
    body += names
    head = struct.pack("<6sBB8xHHIQQQIHHHHHH", b"\x7fELF\x02\x01", 1, 0x41, 2, 190, 1, 0, 0, 64 + len(body), 90 << 8,
                       64, 0, 0, 64, len(headers), len(headers) - 1)
    return head + body + b"".join(headers)


class Sections(unittest.TestCase):
    def test_found(self):
        data = cubin({".text.a": b"x" * 32, ".data": b"y", ".text.b": b"z" * 16})
        found = elf.text_sections(data)
        self.assertEqual(set(found), {"a", "b"})
        start, size = found["b"]
        self.assertEqual(data[start : start + size], b"z" * 16)

    def test_any_bytes(self):
        rng, whole = random.Random(1), cubin({".text.a": b"x" * 32})
        for _ in range(2000):
            data = bytearray(whole[: rng.randrange(len(whole) + 1)])
            for _ in range(rng.randrange(4)):
                if data:
                    data[rng.randrange(len(data))] = rng.randrange(256)
            try:
                elf.text_sections(bytes(data))
            except elf.NotACubin:
                pass


if __name__ == "__main__":
    unittest.main()
