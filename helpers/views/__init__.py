"""What a lesson shows: listings, diffs, counters, and pictures of what a recorded launch did.

Each picture is a pure function of a trace, a profile or a data sheet; `helpers.widgets` puts
controls on some of them.
"""

from .aligned import alignment
from .coalesced import coalescing
from .code import COUNTERS, View, counters, diff, source
from .conflicts import banks
from .costs import annotated
from .residency import occupancy
from .trees import tree

__all__ = ["COUNTERS", "View", "alignment", "annotated", "banks", "coalescing", "counters", "diff"]
__all__ += ["occupancy", "source", "tree"]
