"""Fourier transforms of many lengths, types and dimensions, forward and back (cuFFT)."""

import draws

# Powers of two, products of small primes, odd lengths, primes (Bluestein), long ones that take several kernels.
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 25, 27, 30, 32, 49, 60, 64, 81, 96, 100, 121, 125, 128, 169, 210, 243, 256, 343, 360, 500, 512, 625]
LENGTHS += [127, 251, 509, 720, 729, 1000, 1001, 1013, 1024, 1331, 1536, 2018, 2048, 2187, 2197, 2401, 3000, 3125, 4096, 4099, 5040, 6561, 8192, 10000]
LENGTHS += [16384, 19683, 32768, 44100, 65536, 65537, 100000, 131072, 262144, 1048576]
PLANES = [(4, 4), (16, 16), (32, 48), (33, 35), (64, 64), (100, 75), (127, 64), (128, 128), (256, 243), (512, 512), (1000, 1024)]
VOLUMES = [(4, 4, 4), (8, 9, 10), (16, 16, 16), (32, 32, 32), (30, 31, 32), (64, 64, 64), (128, 64, 96)]


def results(torch):
    """Cases, and functions that give their tensors."""
    _, numbers = draws.draws(torch, 5)
    fft = torch.fft
    real = {"float32": (torch.float32, torch.complex64), "float64": (torch.float64, torch.complex128)}
    for name, (kind, pairs) in real.items():
        for length in LENGTHS:
            for batch in (1, 3, 64):
                if length * batch > 1 << 21:
                    continue
                case = f"{name}|{batch}x{length}"
                line, complexes = numbers(kind, batch, length), numbers(pairs, batch, length)
                yield f"forward|{case}", lambda: fft.fft(complexes)
                yield f"back|{case}", lambda: fft.ifft(complexes)
                yield f"real|{case}", lambda: fft.rfft(line)
                yield f"to-real|{case}", lambda: fft.irfft(complexes[:, : length // 2 + 1].contiguous(), n=length)
                if batch > 1 and length <= 4096:
                    yield f"strided|{case}", lambda: fft.fft(complexes.t().contiguous(), dim=0)
        for shape in PLANES + VOLUMES:
            for batch in (1, 5):
                axes = tuple(range(1, len(shape) + 1))
                case = f"{name}|{batch}x{'x'.join(map(str, shape))}"
                line, complexes = numbers(kind, batch, *shape), numbers(pairs, batch, *shape)
                yield f"forward|{case}", lambda: fft.fftn(complexes, dim=axes)
                yield f"back|{case}", lambda: fft.ifftn(complexes, dim=axes)
                yield f"real|{case}", lambda: fft.rfftn(line, dim=axes)
                yield f"round|{case}", lambda: fft.irfftn(fft.rfftn(line, dim=axes), s=shape, dim=axes)
    for length in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 32768):
        for batch in (1, 7, 64):
            halves = numbers(torch.float16, batch, length)
            yield f"half|{batch}x{length}", lambda: fft.rfft(halves)
            yield f"half-pairs|{batch}x{length}", lambda: fft.fft(torch.complex(halves, halves.flip(1)))
            yield f"half-round|{batch}x{length}", lambda: fft.irfft(fft.rfft(halves))
