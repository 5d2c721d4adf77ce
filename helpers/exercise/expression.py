"""Arithmetic in rows, cols and block, as exercise.toml writes grids and budgets: "rows * 8"."""

import ast
import operator
from collections.abc import Callable

__all__ = ["NAMES", "ExpressionError", "value"]

NAMES = ("rows", "cols", "block")
FUNCTIONS: dict[str, Callable] = {
    "min": min,
    "max": max,
    "ceil_div": lambda a, b: -(-a // b),
}
OPERATORS: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


class ExpressionError(ValueError):
    """An expression that is no such arithmetic; the message says what may stand there."""


def value(text: str, rows: int, cols: int, block: int) -> int:
    """The whole number that an expression has at a size. ExpressionError when it has none."""
    try:
        tree = ast.parse(text, mode="eval").body
        return _value(tree, {"rows": rows, "cols": cols, "block": block})
    except (SyntaxError, ZeroDivisionError, _Unknown) as error:
        raise ExpressionError(
            f"cannot work out {text!r} ({error}); expected whole numbers, {', '.join(NAMES)}, "
            f"+ - * // % ( ) and {', '.join(FUNCTIONS)}"
        ) from None


class _Unknown(Exception):
    pass


def _value(node: ast.expr, names: dict[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as args, keywords=[]) if (
            name in FUNCTIONS and (name != "ceil_div" or len(args) == 2)
        ):
            found = [_value(arg, names) for arg in args]
            return FUNCTIONS[name](*found) if len(found) > 1 else found[0]
    raise _Unknown(ast.unparse(node))
