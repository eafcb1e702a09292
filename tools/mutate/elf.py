"""Sections, segments and the code of each kernel: the headers of a little-endian ELF64 file, nothing more."""

import struct
from dataclasses import dataclass

TEXT = ".text."
PROGBITS, SYMTAB, STRTAB, RELA, NOBITS, REL, DYNSYM = 1, 2, 3, 4, 8, 9, 11
HEADER, SECTION, SEGMENT, SYMBOL = 64, 64, 56, 24
CUDA = 190  # e_machine of a cubin


class NotACubin(ValueError):
    """The bytes are not a little-endian ELF64 file with readable section headers."""


@dataclass(frozen=True)
class Section:
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    header: int  # where its header lies in the file

    @property
    def in_file(self):
        """The bytes that it has in the file."""
        return range(self.offset, self.offset + (0 if self.kind in (0, NOBITS) else self.size))


def is_elf(data):
    return len(data) >= HEADER and data[:6] == b"\x7fELF\x02\x01"


def is_cubin(data):
    return is_elf(data) and struct.unpack_from("<H", data, 18)[0] == CUDA


def section_table(data):
    """(offset, number) of the section headers."""
    if not is_elf(data):
        raise NotACubin("no little-endian ELF64 header")
    table, = struct.unpack_from("<Q", data, 40)
    entry, count, names = struct.unpack_from("<HHH", data, 58)
    if entry != SECTION or table + entry * count > len(data) or names >= count:
        raise NotACubin("section headers outside the file")
    return table, count


def sections(data):
    """All sections, by their headers."""
    table, count = section_table(data)
    names, = struct.unpack_from("<H", data, 62)
    headers = [struct.unpack_from("<IIQQQQII", data, table + SECTION * i) for i in range(count)]
    strings = headers[names][4]
    found = []
    for i, (name, *fields) in enumerate(headers):
        end = data.find(b"\0", strings + name)
        label = data[strings + name : end].decode("utf-8", "replace")
        found.append(Section(label, *fields, table + SECTION * i))
    return found


def segments(data):
    """(place of the header, offset in the file, bytes in the file) of each program header."""
    if not is_elf(data):
        raise NotACubin("no little-endian ELF64 header")
    table, = struct.unpack_from("<Q", data, 32)
    entry, count = struct.unpack_from("<HH", data, 54)
    if count and (entry != SEGMENT or table + entry * count > len(data)):
        raise NotACubin("program headers outside the file")
    places = [table + SEGMENT * i for i in range(count)]
    return [(at, *struct.unpack_from("<Q", data, at + 8), *struct.unpack_from("<Q", data, at + 32)) for at in places]


def text_sections(data):
    """`{kernel: (file offset, size)}` of the sections `.text.<kernel>`."""
    return {
        s.name.removeprefix(TEXT): (s.offset, s.size)
        for s in sections(data)
        if s.name.startswith(TEXT) and s.kind == PROGBITS and s.offset + s.size <= len(data)
    }


def covered(data):
    """The ranges of the file that some header speaks of, the headers themselves included."""
    table, count = section_table(data)
    found = [range(0, HEADER), range(table, table + SECTION * count)]
    found += [s.in_file for s in sections(data)]
    for at, offset, size in segments(data):
        found += [range(at, at + SEGMENT), range(offset, offset + size)]
    return [r for r in found if r]
