"""Products and triangular solutions of dense matrices and vectors of many shapes and types, single and in batches (cuBLAS)."""

import draws

SHAPES = [(1, 1, 1), (5, 7, 3), (32, 32, 32), (33, 65, 17), (128, 128, 64), (200, 100, 300), (256, 512, 1024), (1000, 3, 513), (1, 777, 4096), (2048, 2048, 40)]


def results(torch):
    """Cases, and functions that give their tensors."""
    torch.backends.cuda.preferred_blas_library("cublas")
    _, numbers = draws.draws(torch, 3)

    kinds = {"float32": torch.float32, "tf32": torch.float32, "float64": torch.float64, "complex64": torch.complex64, "complex128": torch.complex128}
    kinds |= {"float16": torch.float16, "bfloat16": torch.bfloat16}
    for name, kind in kinds.items():
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        for rows, columns, inner in SHAPES:
            case = f"{name}|{rows}x{columns}x{inner}"
            left, right, sums = numbers(kind, rows, inner), numbers(kind, inner, columns), numbers(kind, rows, columns)
            yield f"nn|{case}", lambda: left @ right
            yield f"nt|{case}", lambda: left @ right.t().contiguous().t()
            yield f"tn|{case}", lambda: left.t().contiguous().t() @ right
            yield f"tt|{case}", lambda: left.t().contiguous().t() @ right.t().contiguous().t()
            yield f"add|{case}", lambda: torch.addmm(sums, left, right, beta=0.5, alpha=-1.5)
            yield f"bias|{case}", lambda: torch.addmm(sums[0], left, right)
            yield f"vector|{case}", lambda: left @ right[:, 0]
            yield f"vector-transposed|{case}", lambda: left.t() @ sums[:, 0]
            yield f"dot|{case}", lambda: torch.dot(left.flatten(), left.flatten())
            yield f"outer|{case}", lambda: torch.addr(sums, left[:, 0], right[0])
            for batch in (2, 17):
                if rows * columns * inner > 1 << 27:
                    continue
                many, more = numbers(kind, batch, rows, inner), numbers(kind, batch, inner, columns)
                yield f"batch{batch}|{case}", lambda: torch.bmm(many, more)
                yield f"batch{batch}-t|{case}", lambda: torch.bmm(many, more.mT.contiguous().mT)
                yield f"batch{batch}-add|{case}", lambda: torch.baddbmm(sums, many, more, beta=2)
            if name in ("tf32", "float16", "bfloat16"):
                continue
            for upper in (False, True):
                for batch in ((), (5,)):
                    triangle = numbers(kind, *batch, rows, rows) * 0.1
                    triangle = (torch.triu if upper else torch.tril)(triangle) + torch.eye(rows, device="cuda", dtype=kind)
                    if rows > 1024:
                        continue
                    solve = torch.linalg.solve_triangular
                    yield f"triangle-{upper}-{len(batch)}|{case}", lambda: solve(triangle, numbers(kind, *batch, rows, columns), upper=upper)
                    yield f"triangle-right-{upper}-{len(batch)}|{case}", lambda: solve(triangle, numbers(kind, *batch, columns, rows), upper=upper, left=False)
    for rows, columns, inner in SHAPES:
        left, right = numbers(torch.int8, rows + 32 - rows % 32, inner + 32 - inner % 32), numbers(torch.int8, inner + 32 - inner % 32, columns + 32 - columns % 32)
        yield f"int8|{rows}x{columns}x{inner}", lambda: torch._int_mm(left, right)
