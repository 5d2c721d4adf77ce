"""`python -m helpers.ship`: compile the lessons' kernels into the PTX shipped with the package.

Where NVRTC cannot be installed, the lessons run from that PTX. Run this after every change of a
`.cu` file; a test fails until it is done.
"""

from . import device, versions
from .simt import nvrtc
from .simt.errors import NAMELESS

__all__ = ["main", "sources"]


def sources() -> list[str]:
    """Every source that must run without a compiler: versions, probes, and the doctor's own."""
    catalogue = (version.source for version in versions.VERSIONS.values())
    return [*catalogue, *map(versions.probe, versions.probes()), device.PROBE]


def main() -> None:
    """Write the PTX of all sources, and remove what belongs to none of them."""
    written = nvrtc.ship(sources(), NAMELESS)
    size = sum(path.stat().st_size for path in written)
    print(f"{len(written)} files, {size / 1024:.0f} KiB in {nvrtc.SHIPPED}")


if __name__ == "__main__":
    main()
