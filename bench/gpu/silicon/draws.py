"""Random tensors of any type for programs/: the same numbers for the same seed."""


def draws(torch, seed: int):
    """The generator, and a function of type and shape that draws from it."""
    generator = torch.Generator("cuda").manual_seed(seed)

    def numbers(kind, *shape):
        if kind == torch.int8:
            return torch.randint(-128, 128, shape, generator=generator, device="cuda", dtype=kind)
        values = torch.randn(*shape, generator=generator, device="cuda", dtype=torch.float64)
        if kind.is_complex:
            return torch.complex(values, torch.randn(*shape, generator=generator, device="cuda", dtype=torch.float64)).to(kind)
        return values.to(kind)

    return generator, numbers
