"""Before a submission is run: nothing of it but the texts of its answers is left to run.

A submitted notebook is a program. nbgrader restores the locked cells and runs all the others as
they come, on the machine that marks. Here every code cell that is not locked is made plain text,
except the answers, and these begin with `%%exercise NAME` whatever their author wrote: so the rest
of the cell is data, handed to the simulator.
"""

import re

from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from .. import exercise
from .cells import answer_id

__all__ = ["NothingAdded", "OnlyKernels", "as_answer"]

MAGIC = re.compile(r"\s*%%exercise\b[^\n]*(?:\n|\Z)")


def as_answer(name: str, text: str) -> str:
    """The text of an answer's cell with its first line as it was handed out."""
    return f"%%exercise {name}\n{MAGIC.sub('', text, count=1)}"


class NothingAdded(NbGraderPreprocessor):
    """A cell that says it is nbgrader's and was not handed out is an ordinary cell."""

    def preprocess(self, nb, resources):
        told = resources["nbgrader"]
        with Gradebook(told["db_url"]) as gradebook:
            handed_out = gradebook.find_notebook(told["notebook"], told["assignment"])
            names = {cell.name for cell in handed_out.source_cells}
        for cell in nb.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") not in names:
                cell.metadata.pop("nbgrader", None)
        return nb, resources


class OnlyKernels(NbGraderPreprocessor):
    """Let only locked cells and the texts of answers run. Must come after OverwriteCells."""

    def preprocess(self, nb, resources):
        names = {answer_id(one.name): one.name for one in exercise.all()}
        for cell in nb.cells:
            told = cell.metadata.get("nbgrader", {})
            if cell.cell_type != "code" or (told.get("locked") and told.get("grade_id")):
                continue
            name = names.get(told.get("grade_id")) if told.get("solution") else None
            if name:
                cell.source = as_answer(name, cell.source)
            else:
                self._make_text(cell)
        return nb, resources

    def _make_text(self, cell):
        if cell.source.strip():
            self.log.warning("A cell of the student's own is shown, not run: %.60r", cell.source)
        cell.cell_type = "raw"
        for key in ("outputs", "execution_count"):
            cell.pop(key, None)
        cell.metadata.pop("nbgrader", None)
