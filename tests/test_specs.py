"""Data sheets: complete, plausible, sourced; one definition of bandwidth."""

import math

import pytest

from helpers import specs


@pytest.mark.parametrize("name", specs.SPECS)
def test_every_record_is_complete_and_names_its_source(name):
    """A figure without a source is not a data sheet."""
    spec = specs.get(name)
    assert name == name.lower()
    assert spec.source.startswith("NVIDIA ")
    assert "Programming Guide" in spec.source
    assert spec.shared_default == 48 * 1024 <= spec.shared_optin <= spec.shared_per_sm
    assert spec.threads_per_sm in (1024, 1536, 2048)
    assert 10 < spec.sms < 200
    assert 1e11 < spec.bandwidth < 1e13
    assert 1e12 < spec.fp32_flops < 1e14


@pytest.mark.parametrize(
    ("name", "capability", "bandwidth", "sms", "optin_kb"),
    [
        ("t4", (7, 5), 320e9, 40, 64),
        ("a100", (8, 0), 2.039e12, 108, 163),
        ("h100", (9, 0), 3.35e12, 132, 227),
        ("h200", (9, 0), 4.8e12, 132, 227),
    ],
)
def test_the_figures_the_lessons_quote(name, capability, bandwidth, sms, optin_kb):
    """The roofs and shared-memory caps that lesson texts rely on."""
    spec = specs.get(name)
    assert (spec.compute_capability, spec.bandwidth, spec.sms) == (capability, bandwidth, sms)
    assert spec.shared_optin == optin_kb * 1024


def test_get_ignores_case_and_lists_the_choices():
    """A wrong name is answered with the right ones."""
    assert specs.get("A100") is specs.SPECS["a100"]
    with pytest.raises(ValueError, match=r"'b300'.*t4, .*h200"):
        specs.get("b300")


def test_effective_bandwidth_counts_one_read_and_one_write():
    """2 × rows × cols × itemsize / time: the article's V4, 87.8 us at 4096 × 4096, is 1529 GB/s."""
    assert specs.effective_bandwidth(1, 1, 4, 1.0) == 8.0
    assert specs.effective_bandwidth(4096, 4096, 4, 87.8e-6) / 1e9 == pytest.approx(1529, abs=1)


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan])
def test_bandwidth_without_a_time_is_an_error(seconds):
    """No time, no bandwidth: the simulator has none."""
    with pytest.raises(ValueError, match="above 0 s"):
        specs.effective_bandwidth(4, 4, 4, seconds)
