"""The build of the kernel that a benchmark measures."""

import filecmp
from pathlib import Path

from pyspark_pulsar import _kernel

_OF_WHEEL = Path(__file__).resolve().parents[1] / ".venv" / "wheel-kernel" / "pyspark_pulsar"


def kernel_build(of_wheel: Path = _OF_WHEEL) -> str:
    """Return the make target that built this process's kernel: `make wheel`, as for users, or `make build`.

    `of_wheel` is the package as `make wheel-kernel` unpacked it.
    """
    own = Path(_kernel.__file__)
    theirs = of_wheel / own.name
    return "make wheel" if theirs.exists() and filecmp.cmp(own, theirs, shallow=False) else "make build"
