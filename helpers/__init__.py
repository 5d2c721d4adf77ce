"""Softmax on a GPU, one change at a time: the same kernels on a card or on a simulator.

Importing this package loads nothing else; the lessons import the modules they use.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
