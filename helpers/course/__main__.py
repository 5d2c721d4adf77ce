"""python -m helpers.course: build a course for nbgrader, or a link for a hub."""

import argparse
import sys

from .. import exercise
from . import CourseError, build, pull_link

__all__ = ["main"]


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m helpers.course", description=__doc__)
    words = top.add_subparsers(dest="word", required=True)
    one = words.add_parser("build", help="write a course directory for nbgrader")
    one.add_argument("folder", nargs="?", default="course")
    one.add_argument("--only", nargs="+", default=(), metavar="EXERCISE",
                     help="such as v1/block_max")  # fmt: skip
    one.add_argument("--assignment", metavar="NAME", help="put all into one assignment")
    one.add_argument("--points", type=int, default=10, help="for each exercise")
    one.add_argument("--device", choices=("sim", "gpu"), default="sim",
                     help="gpu: answers also run on this machine's GPU when marked")  # fmt: skip
    one.add_argument("--force", action="store_true", help="replace what was changed by hand")
    two = words.add_parser("link", help="a link that fetches the lessons into a JupyterHub")
    two.add_argument("hub", help="the hub's address")
    two.add_argument("repository", help="where the lessons are, for git")
    two.add_argument("--branch", default="main")
    return top


def main(argv=None) -> int:
    """Run one command; 2 when it cannot be done."""
    options = parser().parse_args(argv)
    try:
        if options.word == "link":
            print(pull_link(options.hub, options.repository, options.branch))
        else:
            print(build(options.folder, options.only, options.assignment, options.points,
                        options.device, options.force))  # fmt: skip
    except (CourseError, exercise.DefinitionError, OSError, ValueError) as error:
        print(f"course: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
