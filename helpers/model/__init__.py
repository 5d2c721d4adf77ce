"""Predicted times, for machines without a GPU, and how far they are from recorded ones.

`times` holds the model and explains it, `work` counts what it needs, `table` sets it beside what
was measured. A prediction is not a measurement: it must never be shown without its label.
"""

from .table import Miss, Misses, misses
from .times import Prediction, predict
from .work import Work, counted

__all__ = ["Miss", "Misses", "Prediction", "Work", "counted", "misses", "predict"]
