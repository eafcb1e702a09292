"""Files that nobody should have to read: good ones damaged several times over, and files made to cost much.

Everything stays under `MOST` bytes.
"""

import ctypes
import re
import struct

import containers
import elf
import wrongfile

MOST = 1_000_000
_NUMBERS = (0, 1, 2, 15, 16, 255, 256, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
_STRUCTURES = (
    wrongfile.attribute_value, wrongfile.attribute_kind, wrongfile.relocation, wrongfile.symbol, wrongfile.section_header,
    wrongfile.section_bytes, wrongfile.elf_header, wrongfile.program_header, wrongfile.random_bytes,
)


def _poked(data, rng):
    """A number that is often a border, at any place or where attributes have theirs."""
    width = rng.choice((1, 2, 4, 8))
    if len(data) < 2 * width:
        return data
    at = rng.randrange(len(data) // width) * width if rng.random() < 0.7 else rng.randrange(len(data) - width)
    value = rng.choice(_NUMBERS) & (1 << 8 * width) - 1
    return data[:at] + value.to_bytes(width, "little") + data[at + width :]


def _attribute(data, rng):
    """An attribute with a number that is often a border."""
    records = [r for r in wrongfile._attributes(data) if len(r[2]) >= 4]
    if not records:
        return data
    _, _, payload = rng.choice(records)
    at = rng.choice(range(payload.start, payload.stop - 3, 4))
    return data[:at] + (rng.choice(_NUMBERS) & 0xFFFFFFFF).to_bytes(4, "little") + data[at + 4 :]


def _words(data, rng):
    """Words of code: random ones, copies of others, a bit."""
    code = [r for r in elf.text_sections(data).values() if r[1] >= 32]
    if not code:
        return data
    start, size = rng.choice(code)
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 4, 30))):
        at = start + rng.randrange(size // 16) * 16
        way = rng.randrange(3)
        if way == 0:
            out[at : at + 16] = rng.randbytes(16)
        elif way == 1:
            other = start + rng.randrange(size // 16) * 16
            out[at : at + 16] = data[other : other + 16]
        else:
            out[at + rng.randrange(16)] ^= 1 << rng.randrange(8)
    return bytes(out)


def _cut(data, rng):
    return data[: rng.randrange(len(data))] if rng.random() < 0.5 else data[rng.randrange(min(len(data), 4096)) :]


def _doubled(data, rng):
    """A piece once more, or one left out, or one of zeros or noise."""
    at, size = rng.randrange(len(data)), rng.choice((1, 4, 16, 64, 1000, 20000))
    piece = data[at : at + size]
    way = rng.randrange(4)
    if way == 0:
        return data[:at] + piece * rng.choice((2, 3, 10)) + data[at + size :]
    if way == 1:
        return data[:at] + data[at + size :]
    return data[:at] + (bytes(len(piece)) if way == 2 else rng.randbytes(len(piece))) + data[at + size :]


def binary(data, rng):
    """(what, damaged bytes) of a cubin, fatbinary, host file or archive."""
    said = []
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        if len(data) < 8:
            break
        what = containers.kind(data)
        makers = [_poked, _cut, _doubled] + [_poked]
        try:
            if what == "cubin":
                makers += [_words, _words, _attribute, _attribute]
            structures = _STRUCTURES if what == "cubin" else tuple(wrongfile.KINDS[what].values()) if what != "text" else ()
            if structures and rng.random() < 0.7:
                make = rng.choice(structures)
                made = make(data, rng)
                if made:
                    said.append(made[0])
                    data = made[1]
                continue
            make = rng.choice(makers)
            data = make(data, rng)
            said.append(make.__name__.strip("_"))
        except (elf.NotACubin, containers.Damaged, struct.error, IndexError, ValueError, OverflowError, MemoryError):
            said.append("random")
            data = wrongfile.random_bytes(data, rng)[1]
    return "; ".join(said), data[:MOST]


_TOKEN = re.compile(r"[%$@.\w]+|\S")


def text(data, rng):
    """(what, damaged bytes) of PTX, text IR and tile programs: lines, tokens, numbers, nesting, long names."""
    source, said = data.decode("utf-8", "replace"), []
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        lines = source.split("\n")
        n = rng.randrange(len(lines))
        way = rng.choice(("token", "token", "number", "number", "line", "line", "byte", "cut", "nest", "name", "many"))
        if way == "token":
            found = list(_TOKEN.finditer(lines[n]))
            if found:
                place = rng.choice(found)
                others = _TOKEN.findall(rng.choice(lines)) or [";"]
                lines[n] = lines[n][: place.start()] + rng.choice((rng.choice(others), "", place[0] * 2)) + lines[n][place.end() :]
        elif way == "number":
            places = list(re.finditer(r"\d+", lines[n]))
            if places:
                place = rng.choice(places)
                lines[n] = lines[n][: place.start()] + str(rng.choice(_NUMBERS) * rng.choice((1, 1, -1))) + lines[n][place.end() :]
        elif way == "line":
            other = rng.randrange(len(lines))
            step = rng.randrange(4)
            if step == 0:
                del lines[n]
            elif step == 1:
                lines.insert(other, lines[n])
            elif step == 2:
                lines[n], lines[other] = lines[other], lines[n]
            else:
                lines[n:n] = lines[other : other + rng.choice((2, 10, 50))]
        elif way == "byte":
            at = rng.randrange(max(1, len(lines[n])))
            lines[n] = lines[n][:at] + rng.choice("\0\t;,{}()[]<>@%.\"'/\\*=:+-0azé\U0001f600") + lines[n][at + 1 :]
        elif way == "cut":
            lines = lines[: n + 1]
            lines[-1] = lines[-1][: rng.randrange(len(lines[-1]) + 1)]
        elif way == "nest":
            pair = rng.choice(("()", "{}", "[]", "<>"))
            depth = rng.choice((10, 1000, 100_000))
            at = rng.randrange(len(lines[n]) + 1)
            closing = pair[1] * depth if rng.random() < 0.5 else ""
            lines[n] = lines[n][:at] + pair[0] * depth + closing + lines[n][at:]
        elif way == "name":
            found = [m for m in re.finditer(r"[A-Za-z_]\w+", lines[n])]
            if found:
                place = rng.choice(found)
                lines[n] = lines[n][: place.end()] + "x" * rng.choice((100, 200_000)) + lines[n][place.end() :]
        else:
            size = len(lines[n]) + 1
            lines[n:n] = [lines[n]] * min(rng.choice((100, 3000, 30_000)), MOST // 2 // size)
        source = "\n".join(lines)[:MOST]
        said.append(way)
    return ", ".join(said), source.encode()[:MOST]


# Files that are made to cost much.


def long_code(data, code):
    """A cubin whose first code section is another one, behind everything else; its function is as long."""
    sections = elf.sections(data)
    index = next(i for i, s in enumerate(sections) if s.name.startswith(elf.TEXT))
    out = bytearray(data + bytes(-len(data) % 128))
    struct.pack_into("<QQ", out, sections[index].header + 24, len(out), len(code))
    for table in (s for s in sections if s.kind == elf.SYMTAB):
        for at in range(table.offset, table.offset + table.size - 23, elf.SYMBOL):
            info, _, section = struct.unpack_from("<BBH", out, at + 4)
            if section == index and info & 15 == 2:
                struct.pack_into("<Q", out, at + 16, len(code))
    return bytes(out) + code


def lz4_packed(data):
    """A raw LZ4 block that finds what repeats at a distance of up to 64 KiB at once, and nothing else."""
    out, at, start, last = bytearray(), 0, 0, {}

    def length(value):
        while value >= 255:
            out.append(255)
            value -= 255
        out.append(value)

    end = len(data) - 12
    while at < end:
        key = data[at : at + 8]
        before = last.get(key)
        last[key] = at
        if before is None or at - before > 65535:
            at += 1
            continue
        distance, size = at - before, 8
        step = 1 << 16
        # What repeats does so for long.
        while at + size < end:
            piece = min(step, end - at - size)
            if data[at + size : at + size + piece] == data[before + size : before + size + piece]:
                size += piece
            elif step == 1:
                break
            else:
                step >>= 4
        literals = at - start
        out.append(min(literals, 15) << 4 | min(size - 4, 15))
        if literals >= 15:
            length(literals - 15)
        out += data[start:at] + distance.to_bytes(2, "little")
        if size - 4 >= 15:
            length(size - 4 - 15)
        at += size
        start = at
    literals = len(data) - start
    out.append(min(literals, 15) << 4)
    if literals >= 15:
        length(literals - 15)
    return bytes(out + data[start:])


def zstd_packed(data):
    """A zstd frame by the reference library; None where the machine has none."""
    library = containers._reference()
    if library is None:
        return None
    library.ZSTD_compress.restype = ctypes.c_size_t
    library.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    room = ctypes.create_string_buffer(len(data) // 8 + 100_000)
    size = library.ZSTD_compress(room, len(room), data, len(data), 19 if len(data) < 8 << 20 else 3)
    return None if library.ZSTD_isError(size) else room.raw[:size]


def fatbinary(entries):
    """A fatbinary of `[(architecture, compression, stored bytes, decompressed size)]`."""
    body = b""
    for arch, compression, stored, size in entries:
        padded = stored + bytes(-len(stored) % 8)
        flags = {containers.STORED: 0, containers.LZ4: 1 << 13, containers.ZSTD: 1 << 15}[compression] | 0x11
        used = 0 if compression == containers.STORED else len(stored)
        body += struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, len(padded), used, 0, 0, 1, arch, 0, 0, flags, 0,
                            0 if compression == containers.STORED else size)
        body += padded
    return struct.pack("<IHHQ", containers.MAGIC, 1, 16, len(body)) + body


# What may lie between what compresses well: one byte for so many. Of large images what is beyond `_LARGE` has one for every `_LARGE_RATIO`.
_FREIGHT = {containers.LZ4: 200, containers.ZSTD: 1000}
_LARGE, _LARGE_RATIO = 64 << 20, 125
# The last one is out of all proportion to the file, and has to be refused.
BOMBS = ((containers.LZ4, 15), (containers.LZ4, 75), (containers.ZSTD, 15), (containers.ZSTD, 170), (containers.ZSTD, 400))


# Images in one file, and megabytes of code in each: code that ends as it should, as much as is scheduled of a function, and of many.
MANY = ((1, 4), (8, 4), (40, 1))


def many(arch, data, count, megabytes, rng):
    """A fatbinary of so many images with so much code, the own of the first section over and over, no two of them alike."""
    start, size = max(elf.text_sections(data).values(), key=lambda r: r[1])
    own, entries = data[start : start + size], []
    for n in range(count):
        whole = long_code(data, own * (((megabytes << 20) // size) - n))
        whole += rng.randbytes(freight(containers.ZSTD, len(whole)))
        entries.append((arch, containers.ZSTD, zstd_packed(whole), len(whole)))
    return fatbinary(entries) if all(entry[2] for entry in entries) else None


def freight(compression, size):
    """How many bytes that mean nothing an image of so many has to have, so that readers which bound the proportion take it; few where no file has room for them."""
    few, many = size // _FREIGHT[compression], max(0, size - _LARGE) // _LARGE_RATIO
    return max(few, many) if many < MOST * 9 // 10 else few


def heavy(cubins, texts, rng, bombs=BOMBS, packed=MANY):
    """[(name, kind, bytes)] made of good files: `cubins` as (architecture, bytes), texts as (kind, bytes)."""
    made = []
    for arch, data in cubins:
        start, size = max(elf.text_sections(data).values(), key=lambda r: r[1])
        own = data[start : start + size]
        room = (MOST - len(data) - 256) // 16 * 16
        codes = {
            "zero words": bytes(room),
            "its code over and over": (own * (room // len(own) + 1))[:room],
            "one word over and over": own[: 16 * (room // 16 > 0)] * (room // 16),
            "random words": rng.randbytes(room),
            "a few random words": rng.randbytes(800 * 16),
            "its words in any order": b"".join(rng.choice([own[i : i + 16] for i in range(0, size, 16)]) for _ in range(room // 16)),
        }
        for name, code in codes.items():
            made.append((f"sm_{arch}: {name}, {len(code) >> 4} instructions", "binary", long_code(data, code)[:MOST]))
        for name, period in (("zeros", bytes(16)), ("its code", own), ("zeros behind it", None)):
            for compression, megabytes in bombs:
                size = megabytes << 20
                # Readers may bound how much a byte stands for: bytes that mean nothing bring that down.
                whole = data + rng.randbytes(freight(compression, size))
                if period is None:
                    whole += bytes(size)
                else:
                    whole = long_code(whole, (period * (size // len(period) + 1))[:size])
                stored = (lz4_packed if compression == containers.LZ4 else zstd_packed)(whole)
                if stored and len(stored) < MOST - 200:
                    made.append((f"sm_{arch}: {megabytes} MiB of {name} in {len(stored)} bytes of {compression}", "binary",
                                 fatbinary([(arch, compression, stored, len(whole))])))
        small = lz4_packed(data)
        count = (MOST - 100) // (len(small) + 72)
        made.append((f"sm_{arch}: {count} images", "binary", fatbinary([(arch, containers.LZ4, small, len(data))] * count)))
    made.append(("entries without payload", "binary", fatbinary([(90, containers.STORED, b"", 0)] * (MOST // 64 - 1))))
    for kind, data in texts:
        lines = data.decode().split("\n")
        for n in sorted(rng.sample(range(len(lines)), min(6, len(lines)))):
            if lines[n].strip():
                times = (MOST - len(data) - 10) // (len(lines[n]) + 1)
                made.append((f"{kind}: line {n + 1} {times} times: {lines[n].strip()[:60]}", kind,
                             "\n".join([*lines[:n], *[lines[n]] * times, *lines[n:]]).encode()[:MOST]))
    for arch, data in cubins:
        for count, megabytes in packed:
            file = many(arch, data, count, megabytes, rng)
            if file and len(file) < MOST:
                made.append((f"sm_{arch}: {count} images with {megabytes} MiB of its code each", "binary", file))
    return made
