"""How a shared-memory access falls into wavefronts: 32 banks of 4 bytes.

Up to 32-bit elements a warp is one group of lanes; 64-bit ones make two, 128-bit ones four. A group
takes as many wavefronts as the most distinct words that one bank has to give. When lanes n and n^1
(or n and n^2) agree on their address wherever both are active, a 64- or 128-bit load takes two
groups at once.
Nsight Compute tells two stories of that: the counters of the hardware, which need the whole warp to
agree, and the source view, which looks at 16 lanes of a 128-bit load by themselves and does not
join groups that conflict; its ideal is the smaller of what these halves add up to and of what the
bytes of the whole warp fit in. The rules reproduce every pattern of tests/calibration on an H200.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["BANKS", "Waves", "waves"]

BANKS = 32
WAVEFRONT = 128  # bytes


@dataclass(slots=True)
class Waves:
    """Wavefronts of an access: `source` and its `ideal` as in Nsight Compute's source view,
    `hardware` as its counters have it, and the `conflicts` among those."""

    source: int
    ideal: int
    hardware: int
    conflicts: int


def waves(lanes, active, width: int, kind: str = "load") -> Waves:
    """Count an access. `lanes` are byte offsets (warps, 32), `active` booleans of that shape or
    None; `width` is the bytes of a lane. `kind` is load, store, or atomic: lanes of an atomic
    operation that share a word take turns."""
    element, group = lanes >> (2 if width < 4 else width.bit_length() - 1), 32
    if active is None:
        active = np.ones((1, 32), bool)
    active = np.broadcast_to(active, lanes.shape)
    if width > 4:
        group = WAVEFRONT // width
    per_group = most_in_a_bank(element, active, group, width, kind == "atomic")
    groups = per_group > 0
    if width <= 4 or kind != "load":
        total, ideal = int(per_group.sum()), int(fewest(active, width, 32).sum())
        return Waves(total, ideal, total, total - int(groups.sum()))
    agree = np.stack([alike(element, active, partner) for partner in (1, 2)])
    joined = most_in_a_bank(element, active, 2 * group, width, False)
    return wide_load(per_group, joined, agree, active, width)


def wide_load(per_group, joined, agree, active, width: int) -> Waves:
    """A 64- or 128-bit load: `joined` are the counts of two groups taken at once."""
    warps, halves = joined.shape
    by_half = agree.reshape(2, warps, halves, -1).all(-1).any(0) & (joined == 1)
    alone = per_group.reshape(warps, halves, 2).sum(-1)
    source = np.where(by_half, joined, alone)
    best = np.where(by_half, 1, fewest(active, width, 32 // halves)).sum(-1)
    best = np.minimum(best, fewest(active, width, 32)[:, 0])
    whole = agree.all(-1).any(0)
    hardware = np.where(whole, joined.sum(-1), per_group.sum(-1))
    free = np.where(whole, (joined > 0).sum(-1), (per_group > 0).sum(-1))
    return Waves(
        int(source.sum()), int(best.sum()), int(hardware.sum()), int((hardware - free).sum())
    )


def alike(element, active, partner: int):
    """(warps, 32): does a lane have the element of lane n ^ partner, or one of them no say?"""
    other = np.arange(32) ^ partner
    return (element == element[:, other]) | ~(active & active[:, other])


def fewest(active, width: int, lanes: int):
    """(warps, 32 / lanes): the wavefronts that the bytes of so many lanes' active ones fit in."""
    busy = active.reshape(len(active), -1, lanes).sum(-1)
    return -(-busy * max(width, 4) // WAVEFRONT)


def most_in_a_bank(element, active, group: int, width: int, turns: bool):
    """(warps, groups): the most elements that fall on one bank, distinct ones unless lanes take
    `turns`; 0 for a group without an active lane."""
    banks = BANKS * 4 // max(width, 4)  # neighbouring banks give an element together
    where = np.arange(element.size).reshape(element.shape) // group
    key = (where << 32 | element)[active]  # a group and an element of it
    if not turns:
        key = np.unique(key)
    place = (key >> 32) * banks + (key & (banks - 1))
    found = np.bincount(place, minlength=element.size // group * banks)
    return found.reshape(len(element), -1, banks).max(-1)
