"""A class for nbgrader, made from the exercises: what is handed out, and what marks it.

    python -m helpers.course build FOLDER     a course directory, ready for `nbgrader`
    python -m helpers.course link HUB REPO    a link that fetches the lessons into a JupyterHub

An assignment imports this package: it brings the `%%exercise` cell and `mark`, which the locked
cells below each answer call. Only `settings` and `sanitise` need nbgrader.
"""

from .build import Built, CourseError, build, pull_link
from .marking import Mark, mark, use_in_notebook

__all__ = ["Built", "CourseError", "Mark", "build", "mark", "pull_link", "use_in_notebook"]

use_in_notebook()
