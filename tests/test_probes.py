"""Probes are small kernels that show one thing: each compiles, is shipped, and runs clean."""

import numpy as np
import pytest

from helpers import ship, simt, versions

# probe → its launches: (entry, grid, block, arguments, bytes of dynamic shared memory). An array is
# given by its shape. A new probe needs a line here.
LAUNCHES = {
    "banks": [
        ("banks_32", 1, 32, ([32], 33, 0, 1, 0), 4 * (31 * 33 + 32)),
        ("banks_64", 1, 32, ([64], 32, 3, 2, 31), 8 * (31 * 32 + 32)),
        ("banks_128", 1, 32, ([128], 32, 0, 1, 0), 16 * (31 * 32 + 32)),
    ],
    "float4_tail": [("float4_tail", 3, 32, ([3, 8], [3, 8], 3, 8), 0)],
    "reduce": [
        (f"{form}_{op}", 1, 64, ([100], [64], 100), 0)
        for form in ("halving", "doubling", "down", "xor") for op in ("max", "sum")
    ],
    "strided": [
        (f"strided_{bits}", 1, 32, ([32 * bits // 32 * 3], [32 * bits // 32], 3, 0), 0)
        for bits in (16, 32, 64, 128)
    ],
}


def test_every_probe_has_a_launch_here():
    """No probe goes unrun."""
    assert sorted(LAUNCHES) == versions.probes()


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_probe_compiles_and_runs_clean(name):
    """Every entry of the file is launched, and neither mistake nor note is left."""
    source = versions.probe(name)
    assert source.count('extern "C" __global__') == len(LAUNCHES[name])
    for entry, grid, block, args, shared in LAUNCHES[name]:
        arrays = [np.zeros(a, np.float32) if isinstance(a, list) else a for a in args]
        kernel = simt.RawKernel(source, entry)
        seen = simt.profile(kernel, (grid,), (block,), tuple(arrays), shared_mem=shared)
        assert (seen.defects, seen.notes) == ([], [])


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_probe_says_in_its_first_line_what_it_is(name):
    """`// Probe: …`, no line over 100 characters, and its PTX is shipped."""
    source = versions.probe(name)
    assert source.startswith("// Probe: ")
    assert max(map(len, source.splitlines())) <= 100
    assert source in ship.sources()


def test_an_unknown_probe_lists_those_there_are():
    """The names are in the message; a path is no name."""
    with pytest.raises(ValueError, match=r"no probe called 'none'; choose from banks, .*strided"):
        versions.probe("none")
    with pytest.raises(ValueError, match="no probe called"):
        versions.probe("../copy")


def test_a_probe_that_cannot_be_read_names_its_file(tmp_path, monkeypatch):
    """As a version's does: which file, why, and the way out."""
    probes = tmp_path / "probes"
    probes.mkdir()
    (probes / "bad.cu").write_bytes(b"// \xff")
    monkeypatch.setattr(versions, "KERNELS", tmp_path)
    monkeypatch.setattr(versions, "PROBES", probes)
    with pytest.raises(versions.SourceError, match="not UTF-8.*checkout -- kernels_cu/probes/bad"):
        versions.probe("bad")
