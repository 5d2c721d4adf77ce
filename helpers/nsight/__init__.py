"""Nsight Compute in the lessons: run it over the ladder, read what it exports, set it beside the
simulator's counters.

`run` needs a GPU and `ncu`; everything else reads CSV files and needs neither.
"""

from .export import ExportError, read
from .ladder import METRICS, SIZES, NsightError, run
from .report import Report

__all__ = ["METRICS", "SIZES", "ExportError", "NsightError", "Report", "read", "run"]
