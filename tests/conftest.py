"""What every test runs under: no plot windows, and the same Hypothesis examples each time."""

import os

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")

# No deadline: a shared machine's pauses are no property of the code. Always the same examples: a
# failure must be one that the next person sees too.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")
