#!/usr/bin/env python3
"""Says which GPU there is; the exit status is 2, with the reason, where there is none that can be used. Needs the driver and nothing else."""

import ctypes
import sys


def main():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        print(f"no NVIDIA driver: {error}", file=sys.stderr)
        return 2
    device, name = ctypes.c_int(), ctypes.create_string_buffer(128)
    major, minor = ctypes.c_int(), ctypes.c_int()
    steps = [
        ("cuInit", (0,)),
        ("cuDeviceGet", (ctypes.byref(device), 0)),
        ("cuDeviceGetName", (name, 128, device)),
        ("cuDeviceGetAttribute", (ctypes.byref(major), 75, device)),
        ("cuDeviceGetAttribute", (ctypes.byref(minor), 76, device)),
    ]
    for call, arguments in steps:
        status = getattr(cuda, call)(*arguments)
        if status:
            text = ctypes.c_char_p()
            cuda.cuGetErrorName(status, ctypes.byref(text))
            print(f"no GPU: {call}: {(text.value or b'?').decode()}", file=sys.stderr)
            return 2
    print(f"{name.value.decode()}, sm_{major.value}{minor.value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
