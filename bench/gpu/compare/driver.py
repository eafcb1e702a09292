"""The few calls of the CUDA driver that are needed, through ctypes: no package has to be installed or imported."""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

SCALARS = {
    "i4": ctypes.c_int32, "u4": ctypes.c_uint32, "i8": ctypes.c_int64, "u8": ctypes.c_uint64,
    "f4": ctypes.c_float, "f8": ctypes.c_double,
}  # fmt: skip
DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
SHARED_BY_DEFAULT = 48 << 10


class CudaError(Exception):
    """The driver refused; after an error of a kernel the context is of no use any more."""


class Driver:
    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.cuda, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(status, ctypes.byref(text))
            raise CudaError(f"{name}: {(text.value or b'?').decode()}")

    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, 256, self.device)
        return text.value.decode()

    def allocate(self, size: int) -> ctypes.c_uint64:
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def free(self, pointer: ctypes.c_uint64) -> None:
        self.call("cuMemFree_v2", pointer)

    def set_bytes(self, pointer: ctypes.c_uint64, byte: int, size: int) -> None:
        self.call("cuMemsetD8Async", pointer, ctypes.c_ubyte(byte), ctypes.c_size_t(size), None)

    def copy(self, to: ctypes.c_uint64, source: ctypes.c_uint64, size: int) -> None:
        self.call("cuMemcpyDtoDAsync_v2", to, source, ctypes.c_size_t(size), None)

    def upload(self, to: ctypes.c_uint64, data: bytes) -> None:
        self.call("cuMemcpyHtoD_v2", to, data, ctypes.c_size_t(len(data)))

    def download(self, source: ctypes.c_uint64, size: int) -> bytearray:
        data = bytearray(size)
        into = (ctypes.c_char * size).from_buffer(data)
        self.call("cuMemcpyDtoH_v2", into, source, ctypes.c_size_t(size))
        return data

    def synchronize(self) -> None:
        self.call("cuCtxSynchronize")

    def load(self, cubin: bytes) -> Module:
        return Module(self, cubin)


class Module:
    """A loaded cubin; every one has its own code, be the bytes the same or not."""

    def __init__(self, driver: Driver, cubin: bytes) -> None:
        self.driver, self.handle = driver, ctypes.c_void_p()
        driver.call("cuModuleLoadData", ctypes.byref(self.handle), cubin)

    def function(self, entry: str, shared: int = 0) -> ctypes.c_void_p:
        function = ctypes.c_void_p()
        self.driver.call("cuModuleGetFunction", ctypes.byref(function), self.handle, entry.encode())
        if shared > SHARED_BY_DEFAULT:
            self.driver.call("cuFuncSetAttribute", function, DYNAMIC_SHARED, shared)
        return function


class Call:
    """A launch with its arguments laid out once, so that repeating it costs little."""

    def __init__(
        self, driver: Driver, grid: Sequence[int], block: Sequence[int], shared: int, values: Sequence[Any]
    ) -> None:
        self.driver, self.values = driver, list(values)
        addresses = [ctypes.addressof(value) for value in self.values]
        self.pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        self.shape = (*map(ctypes.c_uint, (*grid, *block, shared)), None)

    def __call__(self, function: ctypes.c_void_p) -> None:
        self.driver.call("cuLaunchKernel", function, *self.shape, self.pointers, None)


class Stopwatch:
    """Time on the GPU between two points of the stream."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.start, self.stop = ctypes.c_void_p(), ctypes.c_void_p()
        for event in (self.start, self.stop):
            driver.call("cuEventCreate", ctypes.byref(event), 0)

    def begin(self) -> None:
        self.driver.call("cuEventRecord", self.start, None)

    def end(self) -> None:
        self.driver.call("cuEventRecord", self.stop, None)

    def microseconds(self) -> float:
        self.driver.call("cuEventSynchronize", self.stop)
        elapsed = ctypes.c_float()
        self.driver.call("cuEventElapsedTime", ctypes.byref(elapsed), self.start, self.stop)
        return elapsed.value * 1000.0
