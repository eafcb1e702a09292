"""Products, solutions and conversions of sparse matrices in several formats and types (cuSPARSE)."""

import draws

SHAPES = [(16, 16, 0.3), (100, 60, 0.1), (257, 129, 0.05), (512, 512, 0.02), (1000, 700, 0.01), (4096, 4096, 0.001), (3000, 5000, 0.004)]


def results(torch):
    """Cases, and functions that give their tensors."""
    generator, numbers = draws.draws(torch, 1)

    kinds = {"float32": torch.float32, "float64": torch.float64, "complex64": torch.complex64, "complex128": torch.complex128}
    kinds |= {"float16": torch.float16, "bfloat16": torch.bfloat16}
    for name, kind in kinds.items():
        for rows, columns, density in SHAPES:
            case = f"{name}|{rows}x{columns}"
            mask = torch.rand(rows, columns, generator=generator, device="cuda") < density
            dense = numbers(kind, rows, columns) * mask
            rowwise = dense.to_sparse_csr()
            yield f"mv|{case}", lambda: rowwise @ numbers(kind, columns)
            for width in (1, 3, 8, 32, 100):
                yield f"mm|{case}x{width}", lambda: rowwise @ numbers(kind, columns, width)
                yield f"mm-transposed|{case}x{width}", lambda: rowwise @ numbers(kind, width, columns).t()
                yield f"addmm|{case}x{width}", lambda: torch.addmm(numbers(kind, rows, width), rowwise, numbers(kind, columns, width))
            if name in ("float16", "bfloat16"):
                continue
            yield f"spgemm|{case}", lambda: (rowwise @ dense.t().contiguous().to_sparse_csr()).to_dense()
            yield f"add|{case}", lambda: torch.add(rowwise, (dense * 2).to_sparse_csr(), alpha=3).to_dense()
            yield f"sddmm|{case}", lambda: torch.sparse.sampled_addmm(rowwise, numbers(kind, rows, 24), numbers(kind, 24, columns)).to_dense()
            yield f"coo|{case}", lambda: torch.sparse.mm(dense.to_sparse_coo().coalesce(), numbers(kind, columns, 16))
            if rows == columns:
                for upper in (False, True):
                    part = (torch.triu if upper else torch.tril)(dense) + torch.eye(rows, device="cuda", dtype=kind) * 3
                    right = numbers(kind, rows, 4)
                    yield f"solve-{upper}|{case}", lambda: torch.triangular_solve(right, part.to_sparse_csr(), upper=upper)[0]
            if rows % 16 == 0 and columns % 16 == 0:
                blocks = dense.to_sparse_bsr((16, 16))
                yield f"blocks-mm|{case}", lambda: blocks @ numbers(kind, columns, 24)
