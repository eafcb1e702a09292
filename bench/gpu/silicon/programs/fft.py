"""Fourier transforms: lengths with small and large prime factors, all kinds and types, one to three dimensions, several at once (cuFFT)."""

LENGTHS = [*range(1, 129), 144, 160, 169, 192, 225, 243, 251, 256, 257, 289, 320, 343, 360, 384, 400, 486, 500, 512, 529, 625, 640, 720, 729, 768, 961, 1000, 1021]
LENGTHS += [1024, 1080, 1155, 1280, 1331, 1500, 1536, 1600, 1920, 2048, 2187, 2197, 2310, 2401, 2560, 3000, 3072, 3125, 3600, 3840, 4093, 4096, 5000, 6000, 6561]
LENGTHS += [7200, 8192, 9973, 10000, 12288, 16384, 16807, 20000, 30030, 32768, 50000, 59049, 65536, 99991, 100000, 131072, 250000, 262144, 1 << 20]
PLANES = [(8, 8), (12, 10), (16, 64), (31, 33), (100, 100), (128, 128), (127, 64), (240, 320), (256, 512), (1000, 24), (1024, 1024)]
BOXES = [(4, 4, 4), (8, 6, 10), (16, 16, 16), (32, 64, 8), (27, 25, 49), (64, 64, 64), (128, 96, 80)]


def results(torch):
    """Cases, and functions that give their tensors."""
    generator = torch.Generator("cuda").manual_seed(1)

    def numbers(kind, *shape):
        return torch.randn(*shape, generator=generator, device="cuda", dtype=torch.float64).to(kind)

    def pair(kind, *shape):
        return torch.complex(numbers(kind, *shape), numbers(kind, *shape))

    for name, kind in (("float32", torch.float32), ("float64", torch.float64)):
        for length in LENGTHS:
            for batch in (1, 7, 64) if length <= 10000 else (1, 3):
                case = f"{name}|{length}x{batch}"
                values, wide = numbers(kind, batch, length), pair(kind, batch, length)
                yield f"fft|{case}", lambda: torch.fft.fft(wide)
                yield f"ifft|{case}", lambda: torch.fft.ifft(wide)
                yield f"rfft|{case}", lambda: torch.fft.rfft(values)
                yield f"irfft|{case}", lambda: torch.fft.irfft(wide, n=length)
                if batch > 1:
                    yield f"fft-strided|{case}", lambda: torch.fft.fft(wide, dim=0)
        for shape in [*PLANES, *BOXES]:
            for batch in (1, 5):
                case = f"{name}|{'x'.join(map(str, shape))}x{batch}"
                axes = tuple(range(1, len(shape) + 1))
                values, wide = numbers(kind, batch, *shape), pair(kind, batch, *shape)
                yield f"fftn|{case}", lambda: torch.fft.fftn(wide, dim=axes)
                yield f"ifftn|{case}", lambda: torch.fft.ifftn(wide, dim=axes)
                yield f"rfftn|{case}", lambda: torch.fft.rfftn(values, dim=axes)
                yield f"irfftn|{case}", lambda: torch.fft.irfftn(wide, s=shape, dim=axes)
    for length in (2, 4, 16, 64, 256, 1024, 4096, 32768):
        for batch in (1, 7, 64):
            values = numbers(torch.float16, batch, length)
            case = f"float16|{length}x{batch}"
            yield f"rfft|{case}", lambda: torch.fft.rfft(values)
            yield f"fft|{case}", lambda: torch.fft.fft(values)
            yield f"ifft|{case}", lambda: torch.fft.ifft(torch.fft.fft(values))
