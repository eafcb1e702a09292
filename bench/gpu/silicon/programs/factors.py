"""Factorisations, eigenvalues and solutions of dense matrices, single and in batches (cuSOLVER)."""

import draws

SIZES = [(), (3,), (64,)]  # batches
ORDERS = [2, 7, 32, 33, 64, 150, 384]


def results(torch):
    """Cases, and functions that give their tensors."""
    torch.backends.cuda.preferred_linalg_library("cusolver")
    _, numbers = draws.draws(torch, 2)
    linalg = torch.linalg

    kinds = {"float32": torch.float32, "float64": torch.float64, "complex64": torch.complex64, "complex128": torch.complex128}
    for name, kind in kinds.items():
        for batch in SIZES:
            for order in ORDERS:
                if order == 384 and batch == (64,):
                    continue
                case = f"{name}|{'x'.join(map(str, batch)) or 'one'}|{order}"
                square = numbers(kind, *batch, order, order)
                tall = numbers(kind, *batch, order + 9, order)
                right = numbers(kind, *batch, order, 5)
                positive = square @ square.mH + torch.eye(order, device="cuda", dtype=kind) * order
                hermitian = square + square.mH
                lower = linalg.cholesky(positive)
                yield f"cholesky|{case}", lambda: linalg.cholesky(positive)
                yield f"cholesky-solve|{case}", lambda: torch.cholesky_solve(right, lower)
                yield f"cholesky-inverse|{case}", lambda: torch.cholesky_inverse(lower)
                yield f"eigh|{case}", lambda: linalg.eigh(hermitian)
                yield f"eigvalsh|{case}", lambda: linalg.eigvalsh(hermitian)
                yield f"qr|{case}", lambda: linalg.qr(tall)
                yield f"qr-complete|{case}", lambda: linalg.qr(tall, mode="complete")
                yield f"householder|{case}", lambda: linalg.householder_product(*torch.geqrf(tall))
                if not batch:
                    yield f"ormqr|{case}", lambda: torch.ormqr(*torch.geqrf(tall), numbers(kind, order + 9, 4))
                yield f"lu|{case}", lambda: linalg.lu_factor(square)
                yield f"lu-solve|{case}", lambda: linalg.lu_solve(*linalg.lu_factor(square), right)
                yield f"solve|{case}", lambda: linalg.solve(square, right)
                yield f"inverse|{case}", lambda: linalg.inv(square)
                yield f"determinant|{case}", lambda: linalg.slogdet(square)
                yield f"ldl|{case}", lambda: linalg.ldl_factor(hermitian)
                yield f"least-squares|{case}", lambda: linalg.lstsq(tall, numbers(kind, *batch, order + 9, 3), driver="gels").solution
                if len(batch) == 0 or order <= 64:
                    for driver in ("gesvd", "gesvdj", "gesvda"):
                        yield f"svd-{driver}|{case}", lambda: linalg.svd(tall, full_matrices=False, driver=driver)
                        yield f"svdvals-{driver}|{case}", lambda: linalg.svdvals(tall, driver=driver)
                if not batch and order <= 64:
                    yield f"eig|{case}", lambda: linalg.eig(square)
