"""Fatbinaries, archives and host files: where their headers, payloads and members lie, and what payloads hold.

Fatbinary: magic u32, version u16, header size u16, size of all entries u64. Entry: 0 kind u16, 4 header size u32, 8 payload
size u64, 16 compressed size u32, 40 flags u64 (bit 13 LZ4, bit 15 zstd), 56 decompressed size u64.

LZ4 blocks are decompressed here. For zstd frames the reference library is asked where the machine has it: what it refuses, or nobody can
read, holds nothing.
"""

import ctypes
import ctypes.util
import functools
import struct
from dataclasses import dataclass

import elf

MAGIC = 0xBA55ED50
WRAPPER = 0x466243B1
ARCHIVE = b"!<arch>\n"
DEVICE_CODE = (".nv_fatbin", "__nv_relfatbin")
RESOURCES = ".resources"  # where `hosts` has fatbinaries among resources of another kind
STORED, LZ4, ZSTD = "stored", "LZ4", "zstd"
CUBIN, PTX = 2, 1
_ENTRY = 64


class Damaged(ValueError):
    """A header or payload that cannot be read."""


@dataclass(frozen=True)
class Entry:
    header: range
    payload: range  # with the padding
    stored: range
    kind: int
    compression: str
    size: int  # decompressed


@dataclass(frozen=True)
class Fatbinary:
    start: int
    end: int
    entries: tuple


@dataclass(frozen=True)
class Member:
    header: int
    start: int
    size: int
    name: str


def kind(data):
    """cubin, fatbinary, archive, host or text."""
    if elf.is_cubin(data):
        return "cubin"
    if elf.is_elf(data):
        return "host"
    if data.startswith(ARCHIVE):
        return "archive"
    return "fatbinary" if data.startswith(MAGIC.to_bytes(4, "little")) else "text"


def _entry(data, at, end):
    if at + _ENTRY > end:
        raise Damaged(f"an entry at {at:#x} is cut short")
    image, = struct.unpack_from("<H", data, at)
    header, payload, compressed = struct.unpack_from("<IQI", data, at + 4)
    flags, = struct.unpack_from("<Q", data, at + 40)
    size, = struct.unpack_from("<Q", data, at + 56)
    start = at + header
    if header < _ENTRY or start + payload > end:
        raise Damaged(f"the entry at {at:#x} is longer than its fatbinary")
    compression = {0: STORED, 1: LZ4, 4: ZSTD}.get(flags >> 13 & 5)
    if compression is None or (compression != STORED and compressed > payload):
        raise Damaged(f"the entry at {at:#x} has contradicting fields")
    if compression == STORED:
        compressed = size = payload
    return Entry(range(at, start), range(start, start + payload), range(start, start + compressed), image, compression, size)


def fatbinaries(data, start, end):
    """Those that lie one behind the other between two places, zeros between them."""
    found, at = [], start
    while at < end:
        if data[at] == 0:
            at += 1
            continue
        if at + 16 > end or struct.unpack_from("<I", data, at)[0] != MAGIC:
            raise Damaged(f"no fatbinary at {at:#x}")
        header, size = struct.unpack_from("<HQ", data, at + 6)
        stop, next_, entries = at + header + size, at + header, []
        if header < 16 or stop > end:
            raise Damaged(f"the fatbinary at {at:#x} is longer than its place")
        while next_ < stop:
            entries.append(_entry(data, next_, stop))
            next_ = entries[-1].payload.stop
        found.append(Fatbinary(at, stop, tuple(entries)))
        at = stop
    return found


def members(data):
    """The members of an archive."""
    found, at = [], len(ARCHIVE)
    while at + 60 <= len(data):
        head = data[at : at + 60]
        if head[58:] != b"`\n" or not head[48:58].strip().isdigit():
            raise Damaged(f"no member at {at:#x}")
        size = int(head[48:58])
        found.append(Member(at, at + 60, size, head[:16].decode("latin-1").strip()))
        at += 60 + size + size % 2
    return found


def _in_host(data, base):
    found = []
    for section in elf.sections(data):
        if section.name in DEVICE_CODE and section.in_file:
            place = section.in_file
            if place.stop > len(data):
                raise Damaged(f"{section.name} is cut short")
            part = fatbinaries(data, place.start, place.stop)
            found += [shifted(f, base) for f in part]
        elif section.name == RESOURCES and section.in_file:
            found += [shifted(f, base) for f in _among(data, section.in_file.start, min(section.in_file.stop, len(data)))]
    return found


def _among(data, start, end):
    """Fatbinaries among other data, at multiples of eight from its start."""
    found, at = [], start
    while at + 16 <= end:
        if struct.unpack_from("<I", data, at)[0] == MAGIC:
            header, size = struct.unpack_from("<HQ", data, at + 6)
            found += fatbinaries(data, at, min(at + header + size, end))
            at = found[-1].end - (found[-1].end - start) % -8
        else:
            at += 8
    return found


def shifted(fatbinary, base):
    move = lambda r: range(r.start + base, r.stop + base)
    entries = (Entry(move(e.header), move(e.payload), move(e.stored), e.kind, e.compression, e.size) for e in fatbinary.entries)
    return Fatbinary(fatbinary.start + base, fatbinary.end + base, tuple(entries))


def all_fatbinaries(data):
    """Those of a fatbinary file, of a host file's sections, or of an archive's members."""
    what = kind(data)
    try:
        if what == "fatbinary":
            return fatbinaries(data, 0, len(data))
        if what == "host":
            return _in_host(data, 0)
        if what == "archive":
            found = []
            for member in members(data):
                part = data[member.start : member.start + member.size]
                if kind(part) == "host":
                    found += _in_host(part, member.start)
            return found
    except (elf.NotACubin, struct.error) as error:
        raise Damaged(str(error)) from error
    return []


def unpacked(data, entry):
    """The bytes of an entry."""
    stored = data[entry.stored.start : entry.stored.stop]
    if entry.compression == STORED:
        return stored
    return lz4(stored, entry.size) if entry.compression == LZ4 else zstd(stored, entry.size)


def lz4(stored, size):
    """A raw LZ4 block of `size` bytes."""
    out, at = bytearray(), 0
    try:
        while True:
            token, at = stored[at], at + 1
            length, at = _length(stored, at, token >> 4)
            if at + length > len(stored):
                raise Damaged("literals beyond the end")
            out += stored[at : at + length]
            at += length
            if at == len(stored):
                break
            distance, at = stored[at] | stored[at + 1] << 8, at + 2
            length, at = _length(stored, at, token & 15)
            length += 4
            if not 0 < distance <= len(out) or len(out) + length > size:
                raise Damaged("a match outside the block")
            start = len(out) - distance
            while length:
                piece = out[start : start + length]
                out += piece
                length -= len(piece)
    except IndexError as error:
        raise Damaged("a block that is cut short") from error
    if len(out) != size:
        raise Damaged(f"{len(out)} bytes instead of {size}")
    return bytes(out)


def _length(stored, at, length):
    if length == 15:
        while True:
            more, at = stored[at], at + 1
            length += more
            if more != 255:
                break
    return length, at


@functools.cache
def _reference():
    name = ctypes.util.find_library("zstd") or "libzstd.so.1"
    try:
        library = ctypes.CDLL(name)
    except OSError:
        return None
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    library.ZSTD_isError.argtypes = [ctypes.c_size_t]
    library.ZSTD_findFrameCompressedSize.restype = ctypes.c_size_t
    library.ZSTD_findFrameCompressedSize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return library


def zstd(stored, size):
    """One zstd frame of `size` bytes."""
    library = _reference()
    if library is None:
        raise Damaged("no library that reads zstd frames")
    out = ctypes.create_string_buffer(max(1, size))
    got = library.ZSTD_decompress(out, size, stored, len(stored))
    if library.ZSTD_isError(got) or got != size or library.ZSTD_findFrameCompressedSize(stored, len(stored)) != len(stored):
        raise Damaged("a frame that the reference refuses")
    return out.raw[:size]
