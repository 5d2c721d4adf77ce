"""A time without a GPU: what a kernel asks for, counted, over what its data sheet says a card does.

Three things cost time. Work: an SM issues four warp instructions a cycle, L1 gives a line of 128
bytes a cycle, the memory its bandwidth. Waiting: a load takes hundreds of cycles, a barrier tens.
And starting: a launch, and each block of it. Little's law ties the first two together: waiting
costs nothing while other warps have work, and an SM holds so many warps as fit.

The blocks of V1 to V4 start together and meet at barriers, so they keep in step: all wait for
memory at one time and compete for issue slots at another. So the R blocks that share an SM take the
way of one block through all its waits, and then what the R - 1 others need at the busiest place:

    time of R blocks = (waits + own work) + (R - 1) * work of one block at the busiest place

That is the pessimist's bound of a closed queue. Warps that never meet at a barrier (V0, the copy)
drift apart and overlap: the optimist's bound, the larger of the two terms, holds for them. Nothing
keeps blocks in step for ever, either: as they follow each other, turn after turn, we move from the
first bound to the middle of both. How soon is a guess (MANY_TURNS).

Counters come from the simulator, a few rows, times the rows there are. Constants come from the data
sheet and from the chains of `helpers.latency`, measured on an H200 and taken for every card (in
cycles). Registers are left out: only the assembler knows them (up to 32 a thread fill an SM). No
constant was fitted to the time of a softmax; but the shape above was chosen by someone who knew
those of the H200, so another card is the better test. `misses` tells how far each prediction is
off, and so should everybody who shows one.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from numbers import Integral

from .. import recorded, specs, versions
from ..latency import Latencies
from ..specs import Spec
from ..versions import Version
from .work import LANES, Work, busy_warps, counted, resident

__all__ = ["Prediction", "predict"]

SECTOR, LINE = 32, 128  # bytes
ISSUE = 4  # warp instructions an SM issues in a cycle: one from each of its four schedulers
CORES = {(7, 5): 64, (8, 0): 64}  # FP32 lanes an SM; 128 elsewhere (CUDA Programming Guide)
L2_BYTES = 5120  # a cycle, all SMs together (A100 white paper; taken for the cards after it, too)
L2_BYTES_SM = 64  # a cycle, one SM (the same)
MANY_TURNS = 16  # so often do blocks follow each other until they are as much out of step as ever


@dataclass(frozen=True, repr=False)
class Prediction:
    """A predicted time, never a measured one: `label()` says so and must be shown with it.

    name: the version's, and for one that is not as the catalogue has it what differs, so that no
    record passes for it. us: microseconds. gbps: effective bandwidth, 10^9 bytes/s. parts: name ->
    microseconds, adding up to us. bound: the largest part. why: what decides, and where the model
    is weak here.
    """

    name: str
    rows: int
    cols: int
    dtype: str
    device: str
    us: float
    gbps: float
    parts: dict[str, float]
    bound: str
    why: str
    origin: str = "predicted"

    def label(self) -> str:
        return f"predicted, {self.device} data sheet"

    @property
    def miss(self) -> float | None:
        """How far the model is off the newest recorded H200 time of this version and size,
        (predicted - recorded) / recorded; None where nothing is recorded."""
        known = self._known()
        return known and known.miss

    def _known(self):
        from .table import known  # reads records, which a prediction must not

        return known(self.name, self.rows, self.cols)

    def __str__(self) -> str:
        known, beside = self._known(), "has no H200 time beside it"
        if known:
            older = ", recorded with an older kernel" if known.recorded.stale else ""
            beside = f"is {known.miss:+.0%} off the H200{older}"
        return (f"{self.name} at {self.rows}×{self.cols}: {self.us:.1f} µs, {self.gbps:.0f} GB/s "
                f"({self.label()}; here the model {beside}). {self.why}")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{part}</td><td>{us:.1f} µs</td></tr>"
                       for part, us in self.parts.items())
        return f"<p>{html.escape(str(self))}</p><table><tbody>{rows}</tbody></table>"


@dataclass(frozen=True)
class Place:
    """Where the blocks run: `together` blocks of `warps` warps share each of `sms` SMs, `turns`
    times one after the other."""

    blocks: int
    warps: int
    sms: int
    together: int
    turns: float


@dataclass(frozen=True)
class Kept:
    """What caches save: the shares of what is read again that L1 and L2 still have, and the sectors
    a block that go past each of them although they were read before."""

    in_l1: float
    in_l2: float
    past_l1: float
    past_l2: float


def predict(
    version: Version | str,
    rows: int = 4096,
    cols: int = 4096,
    spec: Spec | str = "h200",
    latencies: Latencies | None = None,
) -> Prediction:
    """The time of one launch, cold caches, on the card of a data sheet.

    spec: a record of `specs` or its name. latencies: by default those recorded on an H200. Raises
    ValueError for a size that the version cannot take on that card, or an unknown name.
    """
    version = versions.get(version) if isinstance(version, str) else version
    spec = specs.get(spec) if isinstance(spec, str) else spec
    if not (isinstance(rows, Integral) and isinstance(cols, Integral) and min(rows, cols) >= 1):
        raise ValueError(f"rows and cols: expected whole numbers from 1 on, got {rows} and {cols}")
    if problem := version.limits(cols, version.np_dtype, spec):
        raise ValueError(problem)
    wait, work = latencies or recorded.latency(), counted(version, rows, cols)
    hertz = spec.fp32_flops / (2 * CORES.get(spec.compute_capability, 128) * spec.sms)
    place = _place(version, rows, cols, spec)
    kept = _kept(work, place, version.shared(cols), spec)
    way = _way(work, place, kept, wait)
    busy = _busy(work, place, kept, spec, hertz)

    cycles = _together(way, busy, place, bool(work.barriers))
    parts = {"launch": wait.us["one_wave"]}
    parts |= {name: place.turns * value / hertz * 1e6 for name, value in cycles.items()}
    late = parts["launch"] + place.blocks * wait.us["block"] - sum(parts.values())
    if late > 0:  # an SM gets no block sooner than the next one can be started
        parts["starting blocks"] = late
    us, bound = sum(parts.values()), max(parts, key=parts.get)
    return Prediction(
        _called(version), rows, cols, version.dtype, spec.name, us,
        specs.effective_bandwidth(rows, cols, version.np_dtype.itemsize, us * 1e-6) / 1e9,
        parts, bound, _why(bound, work, place, kept, spec),
    )  # fmt: skip


def _called(version: Version) -> str:
    own = versions.VERSIONS.get(version.name, version)
    if version == own:
        return version.name
    only_block = version == replace(own, block=version.block)
    return f"{version.name}, {f'{version.block} threads a block' if only_block else 'changed'}"


def _together(way: dict, busy: dict, place: Place, barriers: bool) -> dict[str, float]:
    """Cycles that one turn takes, by part: between the two bounds."""
    limit = max(busy, key=busy.get)
    way = {**way, "instructions": max(way["instructions"], busy["instructions"]),
           "memory": busy["memory"]}  # fmt: skip
    least = max(sum(way.values()), place.together * busy[limit])
    if barriers:
        way[limit] = way.get(limit, 0.0) + (place.together - 1) * busy[limit]
        drift = min(1.0, place.turns / MANY_TURNS) / 2
        shorter = 1 - drift * (1 - least / sum(way.values()))
        return {name: value * shorter for name, value in way.items()}
    return way if sum(way.values()) == least else {limit: least}


def _place(version: Version, rows: int, cols: int, spec: Spec) -> Place:
    blocks = version.grid(rows, cols)[0]
    together = min(resident(version, cols, spec), -(-blocks // spec.sms))
    turns = max(1.0, blocks / (spec.sms * together))
    return Place(blocks, busy_warps(version, rows), min(blocks, spec.sms), together, turns)


def _kept(work: Work, place: Place, shared: int, spec: Spec) -> Kept:
    mine = SECTOR * (work.read + work.written) * place.together  # bytes that an SM's blocks are at
    in_l1 = _share(mine, spec.shared_per_sm - place.together * shared)
    in_l2 = _share(mine * place.sms, spec.l2)
    again = (work.fetched - work.read) * (1 - in_l1)
    # Lanes far apart: each is at a line of x and one of y, and reads it piece by piece.
    at = 2 * LINE * LANES * place.warps * place.together
    lost = (work.touched - work.fetched) * (1 - _share(at, spec.shared_per_sm))
    return Kept(in_l1, in_l2, again + lost, again * (1 - in_l2))


def _share(held: float, capacity: float) -> float:
    """The share of what is read again that a cache still has, when blocks go round `held` bytes:
    all of what fits, nothing of twice as much (the oldest line goes first, just before its turn).
    Nsight Compute's sectors of V1 to V4 say about the same: `recorded.ncu` at 1024 to 16384."""
    return min(1.0, max(0.0, 2 - held / capacity)) if capacity > 0 else 0.0


def _way(work: Work, place: Place, kept: Kept, wait: Latencies) -> dict[str, float]:
    """Cycles that one block takes all by itself, its warps side by side."""
    cycles = wait.cycles
    beyond = kept.in_l2 * cycles["l2_load"] + (1 - kept.in_l2) * cycles["dram_load"]
    missing = kept.past_l1 / max(work.touched - work.read, 1.0)
    again = missing * beyond + (1 - missing) * cycles["l1_load"]
    return {
        "waiting for loads": work.first * cycles["dram_load"] + work.again * again,
        "waiting for each other": work.barriers * wait.barrier(place.warps)
        + work.shuffles * cycles["shuffle_down"]
        + work.shared * cycles["shared_load"],
        # a lone warp issues its next instruction when the one before is done
        "instructions": work.instructions / place.warps * cycles["fma"],
    }


def _busy(work: Work, place: Place, kept: Kept, spec: Spec, hertz: float) -> dict[str, float]:
    """Cycles for which one block keeps each part of its SM, or the SM's share of the card, busy."""
    through_l2 = SECTOR * (work.read + kept.past_l1 + work.stored)
    through_memory = SECTOR * (work.read + kept.past_l2 + work.written)
    return {
        "instructions": work.instructions / ISSUE,
        "L1": work.lines,
        "L2": through_l2 / min(L2_BYTES / place.sms, L2_BYTES_SM),
        "memory": through_memory * place.sms * hertz / spec.bandwidth,
    }


def _why(bound: str, work: Work, place: Place, kept: Kept, spec: Spec) -> str:
    """What decides, in one sentence, and what the model does not know here, in another."""
    hold = f"{place.together} block{'s' * (place.together > 1)} of {place.warps} warps"
    says = [f"Mostly {bound}: {hold} on each of {place.sms} SMs"]
    again = work.fetched > 1.01 * work.read
    if again:
        says.append(f"of what is read again L1 has {kept.in_l1:.0%} and L2 {kept.in_l2:.0%}")
    partly = 0 < kept.in_l1 < 1 or 0 < kept.in_l2 < 1
    doubts = {
        "the data sheet's bandwidth, which no kernel reaches":
            not work.barriers and bound == "memory",
        "scattered stores of all SMs also meet in L2, which is left out":
            work.lines > work.touched / 2 and place.sms > spec.sms / 2,
        "how far blocks are out of step after so many turns is a guess":
            work.barriers and place.turns > MANY_TURNS,
        "what a cache keeps that is nearly large enough is a guess": again and partly,
        "most reads miss, and waiting and traffic are added where they overlap":
            again and work.barriers and kept.in_l2 < 0.5 and place.together > 1,
        "few warps, so a latency missed or taken twice counts in full":
            work.barriers and place.together * place.warps <= 8,
    }  # fmt: skip
    weak = [doubt for doubt, here in doubts.items() if here]
    return "; ".join(says) + (f". Weak here: {'; '.join(weak)}." if weak else ".")
