"""Where the code of each kernel lies in a cubin: the section headers of an ELF64 file, nothing more."""

import struct

TEXT = ".text."


class NotACubin(ValueError):
    """The bytes are not a little-endian ELF64 file with readable section headers."""


def text_sections(data):
    """`{kernel: (file offset, size)}` of the sections `.text.<kernel>`."""
    if len(data) < 64 or data[:6] != b"\x7fELF\x02\x01":
        raise NotACubin("no little-endian ELF64 header")
    table, = struct.unpack_from("<Q", data, 40)
    entry, count, names = struct.unpack_from("<HHH", data, 58)
    if entry != 64 or table + entry * count > len(data) or names >= count:
        raise NotACubin("section headers outside the file")
    headers = [struct.unpack_from("<IIQQQQ", data, table + entry * i) for i in range(count)]
    strings = headers[names][4]
    found = {}
    for name, kind, _, _, offset, size in headers:
        end = data.find(b"\0", strings + name)
        label = data[strings + name : end].decode("utf-8", "replace")
        if label.startswith(TEXT) and kind == 1 and offset + size <= len(data):
            found[label.removeprefix(TEXT)] = (offset, size)
    return found
