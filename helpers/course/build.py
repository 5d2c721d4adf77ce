"""Writes the course directory: source notebooks and nbgrader's settings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import nbformat

from .. import exercise
from .cells import notebook

__all__ = ["Built", "CourseError", "build", "pull_link"]

CONFIG = '''"""nbgrader's settings for this course. Add your own below; they win."""

from helpers.course import settings

c = get_config()  # noqa: F821 (nbgrader brings it)
settings.apply(c, course={course!r}, device={device!r})
'''


class CourseError(ValueError):
    """A course that cannot be built as asked."""


@dataclass(frozen=True)
class Built:
    """A course directory: its folder, its assignments, and the files of it that were left alone."""

    folder: Path
    assignments: tuple[str, ...]
    kept: tuple[Path, ...]

    def __str__(self) -> str:
        first = self.assignments[0]
        lines = [f"{self.folder}: {len(self.assignments)} assignments, "
                 f"{', '.join(self.assignments)}"]  # fmt: skip
        lines += [f"  left as it is, since it differs (--force replaces it): {path}"
                  for path in self.kept]  # fmt: skip
        lines += ["In that folder:", f"  nbgrader generate_assignment {first}",
                  f"  nbgrader autograde {first}", f"  nbgrader generate_feedback {first}",
                  "  nbgrader export"]  # fmt: skip
        return "\n".join(lines)


def build(
    folder: Path | str,
    names: Sequence[str] = (),
    assignment: str | None = None,
    points: int = 10,
    device: str = "sim",
    force: bool = False,
) -> Built:
    """Write a course directory of all exercises, or of `names`; one assignment a lesson.

    `assignment` puts them into one of that name instead. `points` for each exercise. `device`:
    where answers are marked, see settings.apply. What a teacher has changed is kept unless `force`;
    submissions and marks are never touched. Raises CourseError, exercise.DefinitionError.
    """
    if points < 1:
        raise CourseError(f"points: expected at least 1, got {points}")
    if device not in ("sim", "gpu"):
        raise CourseError(f"device: expected sim or gpu, got {device}")
    folder = Path(folder).resolve()
    parts = _assignments(names, assignment)
    files = {folder / "nbgrader_config.py": CONFIG.format(course=folder.name, device=device)}
    for title, tasks in parts.items():
        made = notebook(f"Exercises: {title}", tasks, points)
        files[folder / "source" / title / f"{title}.ipynb"] = nbformat.writes(made) + "\n"
    kept = [path for path, text in files.items() if not _write(path, text, force)]
    return Built(folder, tuple(parts), tuple(kept))


def pull_link(hub: str, repository: str, branch: str = "main",
              path: str = "notebooks/00_start_here.ipynb") -> str:  # fmt: skip
    """The address that fetches `repository` for whoever opens it on the hub, then shows `path`.

    nbgitpuller answers it; what a learner has changed is kept.
    """
    if "://" not in hub or "://" not in repository:
        raise CourseError(f"expected two addresses with ://, got {hub!r} and {repository!r}")
    place = repository.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")
    asked = {"repo": repository, "branch": branch, "urlpath": f"lab/tree/{place}/{path}"}
    return f"{hub.rstrip('/')}/hub/user-redirect/git-pull?{urlencode(asked)}"


def _assignments(names, assignment):
    """Assignment -> its exercises."""
    if assignment is not None and not re.fullmatch(r"\w[\w.-]*", assignment):
        raise CourseError("assignment: expected a plain name of letters, digits and _ . -, "
                          f"got {assignment!r}")  # fmt: skip
    chosen = [exercise.load(name) for name in names] if names else exercise.all()
    chosen = list({one.name: one for one in chosen}.values())  # named twice, it is there once
    if not chosen:
        raise CourseError("there are no exercises to make a course of")
    if assignment:
        return {assignment: chosen}
    lessons = sorted({one.lesson for one in chosen})
    return {lesson: [one for one in chosen if one.lesson == lesson] for lesson in lessons}


def _write(path, text, force):
    """Write a file; False when another version of it is there and stays."""
    # What is no UTF-8 is read as replacement characters, and so as another version.
    if path.exists() and not force and path.read_text("utf-8", errors="replace") != text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True
