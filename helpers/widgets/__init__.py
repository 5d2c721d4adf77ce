"""Panels of the lessons: each a thin ipywidgets skin over a pure function that a test can call."""

__all__: list[str] = []
