"""Damages what is around code in one way: ELF structures, attributes, fatbinaries, archives, host files that grew, PTX.

A maker gets the bytes of a good file and a random generator and gives `(what, damaged bytes)`, or None where the file has no such thing.
"""

import re
import struct

import containers
import elf


def _flip(data, at, rng, width=1):
    """Another value in a field of `width` bytes: a bit, a step up or down, or any number."""
    old = int.from_bytes(data[at : at + width], "little")
    mask = (1 << 8 * width) - 1
    way = rng.randrange(4)
    if way == 0:
        new = old ^ 1 << rng.randrange(8 * width)
    elif way == 1:
        new = old + rng.choice((-16, -8, -1, 1, 8, 16)) & mask
    elif way == 2:
        new = rng.getrandbits(8 * width)
    else:
        new = rng.choice((0, 1, mask, mask >> 1, old << 1 & mask))
    if new == old:
        new = old ^ 1
    out = bytearray(data)
    out[at : at + width] = new.to_bytes(width, "little")
    return f"at {at:#x}: {old:#x} to {new:#x}", bytes(out)


def _of(sections, rng):
    sections = [s for s in sections if s.in_file]
    return rng.choice(sections) if sections else None


def _attributes(data):
    """(place of a record, type, payload) of all attributes."""
    found = []
    for section in elf.sections(data):
        if not section.name.startswith(".nv.info"):
            continue
        at, end = section.in_file.start, section.in_file.stop
        while at + 4 <= end:
            form, kind, value = struct.unpack_from("<BBH", data, at)
            size = value if form == 4 else 0
            found.append((at, kind, range(at + 4, at + 4 + size)))
            at += 4 + size
    return found


def attribute_value(data, rng):
    records = _attributes(data)
    if not records:
        return None
    at, kind, payload = rng.choice(records)
    if len(payload) >= 4:
        place, width = rng.choice(range(payload.start, payload.stop - 3, 4)), 4
    else:
        place, width = at + 2, 2
    what, out = _flip(data, place, rng, width)
    return f"attribute {kind:#x} {what}", out


def attribute_kind(data, rng):
    records = _attributes(data)
    if not records:
        return None
    at, kind, _ = rng.choice(records)
    what, out = _flip(data, at + rng.randrange(2), rng)
    return f"attribute {kind:#x}, kind or form, {what}", out


def _entries(data, rng, kinds, widths):
    """A field of an entry of a table; `widths` are those of the fields of an entry, for each kind of table."""
    section = _of([s for s in elf.sections(data) if s.kind in kinds], rng)
    if section is None:
        return None
    fields = widths[section.kind]
    size = sum(fields)
    if section.size < size:
        return None
    entry = rng.randrange(section.size // size)
    n = rng.randrange(len(fields))
    what, out = _flip(data, section.offset + size * entry + sum(fields[:n]), rng, fields[n])
    return f"{section.name} entry {entry} {what}", out


def relocation(data, rng):
    return _entries(data, rng, (elf.RELA, elf.REL), {elf.RELA: (8, 4, 4, 8), elf.REL: (8, 4, 4)})


def symbol(data, rng):
    fields = (4, 1, 1, 2, 8, 8)
    return _entries(data, rng, (elf.SYMTAB, elf.DYNSYM), {elf.SYMTAB: fields, elf.DYNSYM: fields})


def section_header(data, rng):
    section = rng.choice(elf.sections(data))
    fields = (4, 4, 8, 8, 8, 8, 4, 4, 8, 8)
    n = rng.randrange(len(fields))
    what, out = _flip(data, section.header + sum(fields[:n]), rng, fields[n])
    return f"header of {section.name}, field {n} {what}", out


def section_bytes(data, rng):
    section = _of([s for s in elf.sections(data) if not s.name.startswith(elf.TEXT)], rng)
    if section is None:
        return None
    what, out = _flip(data, rng.choice(section.in_file), rng)
    return f"{section.name} {what}", out


def elf_header(data, rng):
    what, out = _flip(data, rng.randrange(elf.HEADER), rng)
    return f"ELF header {what}", out


def program_header(data, rng):
    segments = elf.segments(data)
    if not segments:
        return None
    at, *_ = rng.choice(segments)
    fields = (4, 4, 8, 8, 8, 8, 8, 8)
    n = rng.randrange(len(fields))
    what, out = _flip(data, at + sum(fields[:n]), rng, fields[n])
    return f"program header {what}", out


def random_bytes(data, rng):
    """One byte anywhere, a run of bytes, or the end cut off."""
    way = rng.randrange(8)
    if way == 0:
        cut = rng.randrange(1, min(len(data), 64))
        return f"{cut} bytes cut off", data[:-cut]
    if way == 1:
        return "a byte more", data + bytes([rng.randrange(256)])
    at = rng.randrange(len(data))
    if way == 2:
        size = rng.randrange(1, 17)
        return f"{size} bytes at {at:#x}", data[:at] + rng.randbytes(len(data[at : at + size])) + data[at + size :]
    what, out = _flip(data, at, rng)
    return f"byte {what}", out


CUBIN = {
    "attribute value": attribute_value,
    "attribute kind": attribute_kind,
    "relocation": relocation,
    "symbol": symbol,
    "section header": section_header,
    "section bytes": section_bytes,
    "ELF header": elf_header,
    "program header": program_header,
    "random bytes, cubin": random_bytes,
}


# Host files.


def _in_section(names):
    def make(data, rng):
        section = _of([s for s in elf.sections(data) if s.name in names], rng)
        if section is None:
            return None
        width = 8 if section.size >= 8 and rng.random() < 0.5 else 1
        at = section.offset + rng.randrange(section.size // width) * width
        what, out = _flip(data, at, rng, width)
        return f"{section.name} {what}", out

    return make


def new_end(data, rng):
    """What lies behind the last loaded section that is not device code, fatbinaries aside, or a fatbinary's own header there."""
    places = [s for s in elf.sections(data) if s.name in containers.DEVICE_CODE and s.in_file]
    if not places:
        return None
    section = rng.choice(places)
    inside = [range(e.stored.start, e.stored.stop) for f in containers.all_fatbinaries(data) for e in f.entries]
    start = max(0, section.offset - 256)
    outside = [at for at in range(start, min(len(data), section.in_file.stop + 256)) if not any(at in r for r in inside)]
    what, out = _flip(data, rng.choice(outside), rng)
    return f"around {section.name} {what}", out


def old_place(data, rng):
    """Bytes that lie before the fatbinaries and belong to no section: the place that a section had."""
    taken = sorted((r.start, r.stop) for r in (s.in_file for s in elf.sections(data)) if r)
    gaps, at = [], elf.HEADER
    for start, stop in taken:
        if start - at >= 64:
            gaps.append(range(at, start))
        at = max(at, stop)
    if not gaps:
        return None
    what, out = _flip(data, rng.choice(rng.choice(gaps)), rng)
    return f"between sections {what}", out


HOST = {
    "host: wrapper": _in_section((".nvFatBinSegment",)),
    "host: .dynamic": _in_section((".dynamic",)),
    "host: relocations": _in_section((".rela.dyn", ".rela.plt", ".relr.dyn")),
    "host: code and data": _in_section((".text", ".data", ".rodata", ".init_array", ".got", ".got.plt", ".eh_frame")),
    "host: symbols": symbol,
    "host: section header": section_header,
    "host: program header": program_header,
    "host: ELF header": elf_header,
    "host: around fatbinaries": new_end,
    "host: old place": old_place,
    "host: random bytes": random_bytes,
}


# Fatbinaries, wherever they are.


def fatbinary_header(data, rng):
    fatbinaries = containers.all_fatbinaries(data)
    if not fatbinaries:
        return None
    chosen = rng.choice(fatbinaries)
    if not chosen.entries or rng.random() < 0.3:
        what, out = _flip(data, chosen.start + rng.randrange(16), rng)
        return f"fatbinary header {what}", out
    entry = rng.choice(chosen.entries)
    at = rng.choice(entry.header)
    what, out = _flip(data, at, rng)
    return f"entry header, byte {at - entry.header.start}, {what}", out


def _payload(compression):
    def make(data, rng):
        entries = [e for f in containers.all_fatbinaries(data) for e in f.entries if e.compression == compression and e.payload]
        if not entries:
            return None
        entry = rng.choice(entries)
        # Frames say most about themselves at both ends.
        places = (entry.payload, entry.payload[:32], entry.payload[-16:])
        at = rng.choice(rng.choice(places))
        what, out = _flip(data, at, rng)
        return f"{compression} payload, byte {at - entry.payload.start} of {len(entry.payload)}, {what}", out

    return make


FATBINARY = {
    "fatbinary: headers": fatbinary_header,
    "fatbinary: stored": _payload(containers.STORED),
    "fatbinary: LZ4": _payload(containers.LZ4),
    "fatbinary: zstd": _payload(containers.ZSTD),
    "fatbinary: random bytes": random_bytes,
}


# Archives.


def member_header(data, rng):
    member = rng.choice(containers.members(data))
    what, out = _flip(data, member.header + rng.randrange(60), rng)
    return f"header of {member.name} {what}", out


def _objects(data):
    return [m for m in containers.members(data) if containers.kind(data[m.start : m.start + m.size]) == "host"]


def _whole(data, member):
    return data[member.header : member.start + member.size + member.size % 2]


def member_order(data, rng):
    objects = _objects(data)
    if len(objects) < 2:
        return None
    first, second = sorted(rng.sample(objects, 2), key=lambda m: m.header)
    one, two = _whole(data, first), _whole(data, second)
    between = data[first.header + len(one) : second.header]
    out = data[: first.header] + two + between + one + data[second.header + len(two) :]
    return f"{first.name} and {second.name} exchanged", out


def member_replaced(data, rng):
    objects = _objects(data)
    if len(objects) < 2:
        return None
    first, second = rng.sample(objects, 2)
    one, two = _whole(data, first), _whole(data, second)
    # With the name of the one that it replaces.
    two = one[:16] + two[16:] if rng.random() < 0.5 else two
    return f"{first.name} replaced by {second.name}", data[: first.header] + two + data[first.header + len(one) :]


def member_gone(data, rng):
    member = rng.choice(containers.members(data))
    whole = _whole(data, member)
    if rng.random() < 0.5:
        return f"{member.name} twice", data[: member.header] + whole + data[member.header :]
    return f"{member.name} left out", data[: member.header] + data[member.header + len(whole) :]


ARCHIVE = {
    "archive: member header": member_header,
    "archive: member order": member_order,
    "archive: member replaced": member_replaced,
    "archive: member gone or twice": member_gone,
    "archive: random bytes": random_bytes,
}


# PTX.

_TOKEN = re.compile(r"%?[\w$.]+|\S")


def _lines(text):
    """Numbers of the lines that hold an instruction."""
    lines = text.split("\n")
    return lines, [n for n, line in enumerate(lines) if re.match(r"\s+(@!?%\w+\s+)?[a-z][\w.:]*\s[^;]*;\s*$|\s+ret;|\s+bar\.", line)]


def _on_text(make):
    def on_bytes(data, rng):
        found = make(data.decode("utf-8"), rng)
        return found and (found[0], found[1].encode("utf-8"))

    return on_bytes


@_on_text
def ptx_token(text, rng):
    """A token of an instruction replaced by another one of the file."""
    lines, code = _lines(text)
    if not code:
        return None
    n = rng.choice(code)
    tokens = list(_TOKEN.finditer(lines[n]))
    chosen = rng.choice(tokens)
    other = rng.choice(list(_TOKEN.finditer(lines[rng.choice(code)])))[0]
    line = lines[n][: chosen.start()] + other + lines[n][chosen.end() :]
    return f"line {n + 1}: {lines[n].strip()} | {line.strip()}", "\n".join([*lines[:n], line, *lines[n + 1 :]])


@_on_text
def ptx_register(text, rng):
    """A register replaced by another one of its type."""
    lines, code = _lines(text)
    places = [(n, m) for n in code for m in re.finditer(r"%(rd|rs|fd|f|r|p)\d+", lines[n])]
    if not places:
        return None
    n, chosen = rng.choice(places)
    same = sorted({m[0] for _, m in places if m[1] == chosen[1] and m[0] != chosen[0]})
    if not same:
        return None
    line = lines[n][: chosen.start()] + rng.choice(same) + lines[n][chosen.end() :]
    return f"line {n + 1}: {lines[n].strip()} | {line.strip()}", "\n".join([*lines[:n], line, *lines[n + 1 :]])


@_on_text
def ptx_number(text, rng):
    places = [m for m in re.finditer(r"(?<![\w.%$])\d+(?![\w.])", text)]
    if not places:
        return None
    chosen = rng.choice(places)
    other = str(int(chosen[0]) + rng.choice((-1, 1, 4, 16, 1000)))
    return f"at {chosen.start()}: {chosen[0]} to {other}", text[: chosen.start()] + other + text[chosen.end() :]


@_on_text
def ptx_line(text, rng):
    """Lines of instructions: left out, twice, neighbours or any two exchanged."""
    lines, code = _lines(text)
    if len(code) < 3:
        return None
    at, out, way = rng.randrange(len(code) - 1), lines[:], rng.randrange(4)
    n = code[at]
    if way == 0:
        del out[n]
        what = "left out"
    elif way == 1:
        out.insert(n, lines[n])
        what = "twice"
    else:
        other = code[at + 1] if way == 2 else rng.choice(code)
        out[n], out[other] = out[other], out[n]
        what = f"and {lines[other].strip()} exchanged"
    return f"line {n + 1} {lines[n].strip()} {what}", "\n".join(out)


@_on_text
def ptx_byte(text, rng):
    at = rng.randrange(len(text))
    other = rng.choice("\0 \n;,{}@%.0a/*" + chr(rng.randrange(32, 127)))
    return f"at {at}: {text[at]!r} to {other!r}", text[:at] + other + text[at + 1 :]


PTX = {
    "PTX: token": ptx_token,
    "PTX: register": ptx_register,
    "PTX: number": ptx_number,
    "PTX: line": ptx_line,
    "PTX: random byte": ptx_byte,
}

KINDS = {"cubin": CUBIN, "host": {**HOST, **FATBINARY}, "fatbinary": FATBINARY, "archive": {**ARCHIVE, **FATBINARY}, "text": PTX}
