"""What the simulator knows of PTX, from its own tables: one mnemonic, or all as a page."""

from . import isa, special
from .isa import refused
from .isa.table import Form, Row

__all__ = ["explain", "page"]

OPERANDS = {
    "d": "destination",
    "p": "predicate",
    "d|p": "destination, and a predicate if it is there",
    "m": "mask of member lanes",
    "i": "table, a number",
    "f": "function",
    "label": "label",
    "labels": "list of labels",
}


def explain(mnemonic: str) -> str:
    """The row of a mnemonic (`shfl.sync.bfly.b32`) in plain words; UnsupportedInstruction, with the
    reason, for one that is not simulated. An opcode alone gives its row."""
    opcode, *suffixes = mnemonic.strip().rstrip(";").split(".")
    row = isa.lookup(opcode, tuple(suffixes))
    lines = [f"{mnemonic}: {row.meaning}", f"  operands   {operands(row)}"]
    if suffixes:
        form = isa.form(row, tuple(suffixes))
        if opcode in isa.ALU:
            row.make(form)  # it may have something against the combination
        lines += spelled(form)
    lines += [
        f"  types      {row.types or 'none'}",
        f"  suffixes   {suffixes_of(row) or 'none'}",
        f"  counts as  {row.counts}",
    ]
    return "\n".join(lines)


def operands(row: Row) -> str:
    """Its operands: `d (destination), a, b`."""
    named = (f"{o} ({OPERANDS[o]})" if o in OPERANDS else o for o in row.operands.split())
    return ", ".join(named) or "none"


def suffixes_of(row: Row) -> str:
    return " ".join(f".{suffix}" for suffix in dict.fromkeys(row.modifiers.split()))


def spelled(form: Form) -> list[str]:
    """What the suffixes of one mnemonic say."""
    said = " ".join(f".{m}" for m in form.modifiers) or "none"
    types = ", ".join(f"{t.name} ({described(t)})" for t in form.types) or "none"
    return [f"  here       suffixes {said}; types {types}"]


def described(t) -> str:
    kind = {"f": "float", "s": "signed", "u": "unsigned", "b": "bits", "p": "true or false"}[t.kind]
    return f"two {t.name[:-2]}" if t.packed > 1 else f"{kind}, {t.bits} bits" if t.bits else kind


# ---------------------------------------------------------------------------- the page
HEAD = """\
# Instructions

What the simulator knows of PTX, and what it refuses. This page is made from its own tables by
`python -m helpers.simt instructions`; `python -m helpers.simt explain shfl.sync.bfly.b32` says the
same of one instruction. An instruction or a suffix that is not here ends a launch with an
`UnsupportedInstruction` that names it and the line of the `.cu` file; nothing is ignored.
"""


def page() -> str:
    """The whole instruction set as Markdown: what is simulated, class by class, and what is not."""
    classes: dict[str, list[Row]] = {}
    for row in isa.TABLE.values():
        classes.setdefault(row.counts, []).append(row)
    parts = [HEAD]
    for name, rows in classes.items():
        parts.append(f"## {name.capitalize()}\n\n{table(rows)}")
    parts += ["## Special registers\n\n" + registers(), "## Refused\n\n" + reasons()]
    return "\n".join(parts)


def table(rows: list[Row]) -> str:
    lines = ["| instruction | operands | types | suffixes | meaning |", "|---|---|---|---|---|"]
    for row in rows:
        cells = [f"`{row.opcode}`", code(row.operands), code(row.types)]
        cells += [code(" ".join(dict.fromkeys(row.modifiers.split()))), row.meaning]
        escaped = " | ".join(cell.replace("|", r"\|") for cell in cells)
        lines.append(f"| {escaped} |")
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def registers() -> str:
    known = ", ".join(f"`%{name}`" for name in special.KNOWN)
    lines = [f"{known}.\n", "| refused | why |", "|---|---|"]
    return "\n".join([*lines, *by_reason({f"%{n}": why for n, why in special.REFUSED.items()})])


def reasons() -> str:
    suffixes = {f".{name}": why for name, why in refused.SUFFIXES.items()}
    lines = ["| instructions | why |", "|---|---|", *by_reason(refused.INSTRUCTIONS)]
    return "\n".join([*lines, "| suffixes | why |", "|---|---|", *by_reason(suffixes)])


def by_reason(table: dict[str, str]) -> list[str]:
    """Rows of a table, one for each reason."""
    names: dict[str, list[str]] = {}
    for name, why in table.items():
        names.setdefault(why, []).append(f"`{name}`")
    return [f"| {' '.join(group)} | {why} |" for why, group in names.items()] + [""]
