"""The PTX that ships with the package, for machines without NVRTC."""

import numpy as np
import pytest

from helpers import launch, reference, ship, simt, versions
from helpers.simt import nvrtc
from helpers.simt.errors import NAMELESS


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed: nothing to compare with")
def test_shipped_ptx_is_what_the_compiler_makes_of_the_sources():
    """Fails after a change of a .cu file until `python -m helpers.ship` has run.

    Another release of NVRTC writes other PTX, so texts are compared only for the same one.
    """
    paths = [nvrtc.shipped_path(source) for source in ship.sources()]
    assert sorted(nvrtc.SHIPPED.glob("*.ptx")) == sorted(paths)
    release = "release {}.{}".format(*nvrtc.version())
    for source, path in zip(ship.sources(), paths, strict=True):
        shipped = path.read_text(encoding="utf-8")
        if release in shipped:
            assert shipped == nvrtc.run_nvrtc(source, (), nvrtc.SHIPPED_ARCH, NAMELESS)


def test_shipped_ptx_names_no_folder_of_the_machine_that_made_it():
    """`.file` lines hold bare names."""
    for path in nvrtc.SHIPPED.glob("*.ptx"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.lstrip().startswith(".file"):
                assert "/" not in line
                assert "\\" not in line


@pytest.fixture
def no_compiler(monkeypatch):
    """A machine without NVRTC, with nothing remembered from the one that has it."""
    from helpers.simt import kernel

    monkeypatch.setattr(nvrtc, "version", lambda: None)
    monkeypatch.setenv("SOFTMAX_DEVICE", "sim")
    caches = (kernel._module, kernel._program, launch._compiled)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("name", versions.VERSIONS)
def test_every_version_runs_without_a_compiler(no_compiler, name):
    """The same numbers from the shipped PTX."""
    version = versions.get(name)
    x = np.random.default_rng(1).standard_normal((5, 37), np.float32).astype(version.np_dtype)
    y = np.empty_like(x)
    config = launch.config(version, *x.shape)
    kernel = simt.RawKernel(version.source, version.entry)
    kernel(config.grid, config.block, (x, y, *x.shape), shared_mem=config.shared_mem)
    assert reference.compare(y, launch.expected(version, x)).within(version.allowed(37))


def test_an_edited_kernel_says_what_it_needs(no_compiler):
    """A source that was not shipped gets one sentence with the way out."""
    kernel = simt.RawKernel(versions.get("v1").source + "\n// edited", "softmax_v1")
    with pytest.raises(simt.CompileError, match="NVRTC.*not installed.*cuda-bindings"):
        kernel.compile()
