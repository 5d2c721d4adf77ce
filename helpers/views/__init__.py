"""What a lesson shows: listings, diffs, counters, and pictures of what a recorded launch did.

Each picture is a pure function of a trace, a profile or a data sheet; `helpers.widgets` puts
controls on some of them.
"""

from .code import COUNTERS, View, counters, diff, source

__all__ = ["COUNTERS", "View", "counters", "diff", "source"]
