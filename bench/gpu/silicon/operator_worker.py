"""One process of operators.py: runs every n-th operator of PyTorch's own database on the GPU, and writes a digest of every result.

    operator_worker.py OUT.jsonl SHARD OF START SAMPLES PATTERN FILL TURNS [compile]

Operators, their types and their inputs come from `torch.testing._internal` (OpInfo), which tests PyTorch itself. FILL is how many MiB of free memory
have the same content before every case, TURNS how often each operator runs in this process.
"""

import hashlib
import json
import os
import re
import signal
import sys
import warnings

SECONDS = 45  # for one operator and type
TYPES = ("float32", "float16", "int64", "complex64", "bool", "uint8", "float64", "bfloat16")
COMPILED_TYPES = ("float32", "float16", "int64")
# They give what happens to be in memory.
UNINITIALISED = re.compile(r"(new_)?empty($|_like$|_strided$|_permuted$|\.)")
MEBI = 1 << 20
CONTENT = 0x5A  # of free memory; 203 and more as a float of any size
SMALL = 16 * MEBI  # free for tensors of up to 1 MiB, which have a pool of their own
LEAST = 20 * MEBI  # PyTorch asks the driver for no less for larger ones


def blocks(torch, limit):
    """Sizes to ask for, in this order, to get the memory that PyTorch would hand out next: all that it has free, and more from the driver where
    that is less than the limit. It takes the smallest free block of a pool that is large enough, and splits it."""
    device, stream = torch.cuda.current_device(), torch.cuda.current_stream().cuda_stream
    free = {"small": [], "large": []}
    for segment in torch.cuda.memory_snapshot():
        if (segment["device"], segment["stream"]) == (device, stream):
            free[segment["segment_type"]] += [block["size"] for block in segment["blocks"] if block["state"] == "inactive"]
    more = max(0, min(SMALL, limit) - sum(free["small"]))
    whole = sum(size // MEBI for size in free["small"])  # no more at once from this pool, so these come first
    small = [MEBI] * whole + sorted((size % MEBI for size in free["small"] if size % MEBI), reverse=True)
    small += [MEBI] * (2 * -(-more // (2 * MEBI)))  # in pairs, as the driver gives them
    left, sizes = limit - sum(small), []
    for size in sorted(free["large"]):
        if min(size, left) > MEBI:  # less would come from the other pool
            sizes.append(min(size, left))
            left -= sizes[-1]
    return small + sizes + ([left - left % (2 * MEBI)] if left > LEAST else [])


def fill(torch, limit):
    """Gives free memory a fixed content, up to so many bytes: what nobody writes is then the same in every run."""
    held = []
    try:
        for size in blocks(torch, limit) if limit else []:
            held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    except torch.cuda.OutOfMemoryError:
        pass  # others need it; what there is gets filled
    for block in held:
        block.fill_(CONTENT)


def digest(torch, flatten, value):
    """Of all tensors of a result, bit by bit, and of what else is in it."""
    made = hashlib.sha256()
    for item in flatten(value)[0]:
        if not isinstance(item, torch.Tensor):
            made.update(repr(item).encode())
            continue
        item = item.detach()
        if item.layout != torch.strided:
            item = item.to_dense()
        item = item.resolve_conj().resolve_neg().contiguous().cpu()
        made.update(f"{item.dtype} {tuple(item.shape)}".encode())
        if item.numel():
            made.update(item.reshape(-1).view(torch.uint8).numpy().tobytes())
    return made.hexdigest()


class TooLong(Exception):
    """An operator takes too long."""


def lost(text):
    """Whether an error says that the device can be used no more."""
    return any(word in text for word in ("CUDA error", "illegal", "misaligned"))


def too_long(*_):
    raise TooLong(f"more than {SECONDS} s")


class Shard:
    """The operators of one process."""

    def __init__(self, torch, out, samples, compiled, filled=0, turns=1):
        from torch.utils._pytree import tree_flatten

        self.torch, self.flatten, self.samples, self.compiled = torch, tree_flatten, samples, compiled
        self.filled, self.turns = filled, turns
        self.out = open(out, "a", buffering=1)

    def write(self, **record):
        self.out.write(json.dumps(record) + "\n")

    def failed(self, case, error):
        """An exception; where the device is lost, so is the process."""
        text = f"{type(error).__name__}: {error}".replace("\n", " ")[:160]
        self.write(case=case, error=text)
        if lost(text):
            self.write(dead=f"{case}: {text}")
            os._exit(99)

    def call(self, operator, sample):
        if not self.compiled:
            return operator(sample.input, *sample.args, **sample.kwargs)
        self.torch._dynamo.reset()
        plain = operator.op
        function = self.torch.compile(lambda first, rest, named: plain(first, *rest, **named), dynamic=False)
        return function(sample.input, sample.args, sample.kwargs)

    def gradients(self, sample, result):
        """A digest of the gradients; the kind of the error where there are none to be had."""
        try:
            return self.sum_of_gradients(sample, result)
        except TooLong:
            raise
        except Exception as error:
            if lost(str(error)):
                raise
            return type(error).__name__

    def sum_of_gradients(self, sample, result):
        """Of all inputs that want one, for the sum of all results; None where there are none."""
        torch = self.torch
        wanted = lambda item: isinstance(item, torch.Tensor) and item.requires_grad
        outputs = [item for item in self.flatten(result)[0] if wanted(item) and item.layout == torch.strided]
        inputs = [item for item in self.flatten((sample.input, sample.args, sample.kwargs))[0] if wanted(item)]
        if not outputs or not inputs:
            return None
        total = sum(item.abs().sum() if item.is_complex() else item.sum() for item in outputs)
        found = torch.autograd.grad(total, inputs, allow_unused=True)
        return digest(torch, self.flatten, [item for item in found if item is not None])

    def type(self, operator, name, kind):
        torch = self.torch
        gradients = kind == "float32" and operator.supports_autograd and not self.compiled
        try:
            signal.alarm(SECONDS)
            torch.manual_seed(1)
            for number, sample in enumerate(operator.sample_inputs("cuda", getattr(torch, kind), requires_grad=gradients)):
                if number >= self.samples:
                    break
                case = f"{name}|{kind}|{number}"
                try:
                    fill(torch, self.filled)
                    torch.manual_seed(2)
                    result = self.call(operator, sample)
                    record = {"case": case, "digest": digest(torch, self.flatten, result)}
                    if gradients:
                        record["gradient"] = self.gradients(sample, result)
                    self.write(**record)
                except TooLong:
                    raise
                except Exception as error:  # what an operator does not take is no matter here
                    self.failed(case, error)
        except Exception as error:
            self.failed(f"{name}|{kind}|inputs", error)
        finally:
            signal.alarm(0)

    def run(self, operators, start, kinds):
        for index, operator in enumerate(operators):
            if index < start:
                continue
            name = full_name(operator)
            self.write(begin=index, op=name)
            supported = {str(kind).removeprefix("torch.") for kind in operator.supported_dtypes("cuda")}
            for kind in kinds:
                for _ in range(self.turns if kind in supported else 0):
                    self.type(operator, name, kind)  # inputs are made anew: some operators change theirs


def libraries():
    """The files behind PyTorch's GPU code in this process: proof of what was tested."""
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if "libtorch_cuda" in line}
    return sorted(paths)


def full_name(operator):
    return f"{operator.name}.{operator.variant_test_name}" if operator.variant_test_name else operator.name


def without_expecttest():
    """PyTorch's test code wants this package for a base class; where it is not installed, Python's own class does."""
    try:
        import expecttest  # noqa: F401
    except ImportError:
        import types
        import unittest

        stub = types.ModuleType("expecttest")
        stub.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stub


def main():
    out, shard, of, start, samples, pattern, filled, turns = sys.argv[1:9]
    compiled = "compile" in sys.argv[9:]
    warnings.filterwarnings("ignore")
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False
    signal.signal(signal.SIGALRM, too_long)
    without_expecttest()
    from torch.testing._internal.common_methods_invocations import op_db

    chosen = [op for op in sorted(op_db, key=full_name) if re.search(pattern, full_name(op))]
    chosen = [op for op in chosen if not UNINITIALISED.match(full_name(op))]
    made = Shard(torch, out, int(samples), compiled, int(filled) * MEBI, int(turns))
    made.write(loaded=libraries())
    made.run(chosen[int(shard) :: int(of)], int(start), COMPILED_TYPES if compiled else TYPES)
    made.write(loaded=libraries())  # some are loaded when they are wanted
    made.write(done=int(shard))


if __name__ == "__main__":
    main()
