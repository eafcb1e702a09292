"""PyTorch with other libraries, without touching the installed one: a folder of links in which single files of torch/lib are replaced.

`$ORIGIN` of a library is the folder it was opened from, not where a link leads, so PyTorch's libraries find each other in the shadow. For that
the packages with NVIDIA's libraries stand beside it there, too.
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

NEIGHBOURS = ("nvidia", "torch.libs", "triton", "torchgen", "functorch")


def installed() -> Path:
    """The folder of the installed package, found without loading it."""
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("there is no PyTorch: the operators cannot be run")
    return Path(next(iter(found.submodule_search_locations)))


def replace(folder: Path, original: Path, inner: Path, target: Path) -> None:
    """A folder of links to what is in `original`, in which the file `inner` is another one."""
    folder.mkdir()
    first, *rest = inner.parts
    for entry in original.iterdir():
        if entry.name != first:
            (folder / entry.name).symlink_to(entry.resolve())
    if rest:
        replace(folder / first, original / first, Path(*rest), target)
    else:
        (folder / first).symlink_to(target.resolve())


def make(folder: Path, package: Path, replaced: dict[str, Path], beside: tuple[Path, Path] | None = None) -> Path:
    """Makes the shadow of `package` in `folder`; returns what goes to the front of PYTHONPATH. `beside`: a file of a package with NVIDIA's
    libraries, from where these packages are, and what stands in its place."""
    if folder.exists():
        shutil.rmtree(folder)
    shadow = folder / package.name
    (shadow / "lib").mkdir(parents=True)
    for entry in package.iterdir():
        if entry.name != "lib":
            (shadow / entry.name).symlink_to(entry.resolve())
    names = {entry.name for entry in (package / "lib").iterdir()}
    if absent := set(replaced) - names:
        raise SystemExit(f"PyTorch has no {', '.join(sorted(absent))}")
    for name in names:
        target = replaced.get(name, package / "lib" / name)
        (shadow / "lib" / name).symlink_to(target.resolve())
    for name in NEIGHBOURS:
        if beside and beside[0].parts[0] == name:
            replace(folder / name, package.parent / name, Path(*beside[0].parts[1:]), beside[1])
        elif (package.parent / name).exists():
            (folder / name).symlink_to((package.parent / name).resolve())
    return folder
