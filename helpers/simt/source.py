"""The parameter list of a kernel, read from its CUDA C++ source.

A compiled kernel no longer says that its first argument was a `const float*`; its source does.
This is no C++ parser: it reads declarations that carry `__global__` and leaves what it cannot
know (structs, template parameters, pointers to pointers) with dtype None.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import ml_dtypes
import numpy as np

from .errors import LaunchError

__all__ = ["Parameter", "entries", "parameters", "signature"]


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter: `ctype` is its type as written, without `const` and `__restrict__`.

    dtype is the NumPy type of the value, for a pointer of what it points to; None where the
    source alone does not tell. `const` is true when the kernel may only read what is pointed to.
    """

    name: str
    ctype: str
    pointer: bool
    dtype: np.dtype | None
    const: bool

    def __str__(self):
        return f"{'const ' if self.const else ''}{self.ctype} {self.name}"


# C++ spelling as `canonical` gives it -> NumPy type. `l` is C's long: 4 bytes on Windows.
SCALARS = {
    "bool": "?",
    "char": "i1",
    "char signed": "i1",
    "char unsigned": "u1",
    "short": "i2",
    "short unsigned": "u2",
    "int": "i4",
    "unsigned": "u4",
    "long": "l",
    "long unsigned": "L",
    "long long": "i8",
    "long long unsigned": "u8",
    "size_t": "u8",
    "ptrdiff_t": "i8",
    "float": "f4",
    "double": "f8",
    "half": "f2",
    "__half": "f2",
    "nv_bfloat16": ml_dtypes.bfloat16,
    "__nv_bfloat16": ml_dtypes.bfloat16,
    **{f"int{bits}_t": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"u{bits // 8}" for bits in (8, 16, 32, 64)},
}
# What an array must hold to be read through a pointer to a short vector such as float4.
VECTORS = {
    **{
        f"{name}{n}": dtype
        for name, dtype in {
            **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4"},
            **{"uint": "u4", "long": "l", "ulong": "L", "longlong": "i8", "ulonglong": "u8"},
            **{"float": "f4", "double": "f8"},
        }.items()
        for n in "1234"
    },
    "half2": "f2",
    "__half2": "f2",
    "nv_bfloat162": ml_dtypes.bfloat16,
    "__nv_bfloat162": ml_dtypes.bfloat16,
}
TYPE_WORDS = {word for spelling in SCALARS for word in spelling.split()} | {"void", "signed"}
QUALIFIERS = set("const volatile __restrict__ __restrict __grid_constant__ struct typename".split())
NAMESPACE = re.compile(r"\b(?:(?:cuda|std)::)+")
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
TOKEN = re.compile(r'\w+|"C"|::|[^\w\s]')
MACRO = re.compile(r"^[ \t]*\#[ \t]*define[ \t]+(?P<name>\w+)(?P<takes>\()?(?P<body>[^\n]*)$", re.M)
KERNEL = re.compile(r'__global__|"C"')
ALIAS = re.compile(
    r"\btypedef\s+(?P<t>[\w:\s]+?)\s+(?P<tn>\w+)\s*;"
    r"|\busing\s+(?P<un>\w+)\s*=\s*(?P<u>[\w:\s]+?)\s*;"
    r"|^[ \t]*\#[ \t]*define[ \t]+(?P<dn>\w+)[ \t]+(?P<d>[\w: \t]+?)[ \t]*$",
    re.M,
)


@lru_cache(maxsize=256)
def parameters(source: str, entry: str) -> tuple[Parameter, ...]:
    """The parameters of kernel `entry`, in order.

    Raises LaunchError when the source has no such kernel (the message lists those there are), or
    has it without `extern "C"`, so that its compiled name is another.
    """
    text = clean(source)
    found = declarations(text)
    if entry not in found:
        macros = MACRO.finditer(text)
        makers = [m["name"] for m in macros if m["takes"] and KERNEL.search(m["body"])]
        raise LaunchError(
            f"no kernel called {entry!r} in this source, which has "
            f"{', '.join(found) or 'none: no function in it is __global__'}. "
            + (
                f"What the macro {makers[0]}(…) declares cannot be seen: it takes arguments, and "
                "parameters are read from the source. Write the kernel's declaration out."
                if makers
                else "Correct the name in the call or in the .cu file."
            )
        )
    tokens, c_linkage = found[entry]
    if not c_linkage:
        raise LaunchError(
            f'kernel {entry!r} is declared without extern "C", so C++ compiles it under another '
            f'name. Write: extern "C" __global__ void {entry}(…)'
        )
    aliases = type_aliases(text)
    pieces = [piece for piece in split(tokens) if piece != ["void"]]
    return tuple(parameter(piece, number, aliases) for number, piece in enumerate(pieces))


def entries(source: str) -> tuple[str, ...]:
    """The names of all kernels declared in a source, in its order."""
    return tuple(declarations(clean(source)))


def signature(source: str, entry: str) -> str:
    """The kernel's declaration on one line, as an error message quotes it."""
    return f"{entry}({', '.join(map(str, parameters(source, entry)))})"


def clean(source: str) -> str:
    """The source without comments, continued lines and string literals other than "C"."""
    joined = source.replace("\r\n", "\n").replace("\\\n", " ")
    return NOISE.sub(lambda found: '"C"' if found.group() == '"C"' else " ", joined)


def declarations(text: str) -> dict[str, tuple[list[str], bool]]:
    """Kernel name -> (tokens between its parentheses, whether it has C linkage).

    Of a name declared twice the first counts.
    """
    tokens = TOKEN.findall(re.sub(r"^[ \t]*#.*$", "", expanded(text), flags=re.M))
    found, c_linkage, in_c_block = {}, False, False
    for at, token in enumerate(tokens):
        if token == '"C"':
            c_linkage = True
            in_c_block = in_c_block or tokens[at + 1 : at + 2] == ["{"]
        elif token in ";{}":
            c_linkage = False
        elif token == "__global__":
            name, inside = declarator(tokens, at + 1)
            if name:
                found.setdefault(name, (inside, c_linkage or in_c_block))
    return found


def expanded(text: str) -> str:
    """The text with macros such as `#define KERNEL extern "C" __global__ void` written out."""
    for macro in reversed([*MACRO.finditer(text)]):  # what is made of others comes behind them
        if not macro["takes"] and KERNEL.search(macro["body"]):
            text = re.sub(rf"\b{macro['name']}\b", lambda _, m=macro: m["body"], text)
    return text


def declarator(tokens, at):
    """The first name before parentheses that is no attribute such as __launch_bounds__(256)."""
    while at + 1 < len(tokens) and tokens[at] not in (";", "{", "}"):
        if tokens[at + 1] == "(" and re.match(r"\w", tokens[at]):
            end = closing(tokens, at + 1)
            attribute = tokens[at].startswith("__") and tokens[at].endswith("__")
            if not (attribute or tokens[at] in ("alignas", "decltype")):
                return tokens[at], tokens[at + 2 : end]
            at = end
        at += 1
    return None, []


def closing(tokens, start):
    """Index of the parenthesis that closes the one at `start`."""
    depth = 0
    for at in range(start, len(tokens)):
        depth += (tokens[at] == "(") - (tokens[at] == ")")
        if depth == 0:
            return at
    return len(tokens)


def split(tokens):
    """Token lists of the single parameters: commas inside brackets do not count."""
    pieces, depth = [[]], 0
    for token in tokens:
        depth += (token in "(<[{") - (token in ")>]}")
        if token == "," and depth == 0:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return [piece for piece in pieces if piece]


def parameter(tokens, number, aliases) -> Parameter:
    """One parameter out of its tokens; a nameless one is called after its position."""
    if "=" in tokens:
        tokens = tokens[: tokens.index("=")]
    if "[" in tokens:  # `float x[]` is a pointer
        at = tokens.index("[")
        tokens = [*tokens[: at - 1], "*", tokens[at - 1]]
    stars = tokens.count("*")
    const = "const" in (tokens[: tokens.index("*")] if stars else tokens)
    words = [word for word in tokens if word not in QUALIFIERS]
    name = words.pop() if has_name(words) else f"#{number}"
    base = " ".join(word for word in words if word != "*")
    base = re.sub(r"\s*(::|<|>|,)\s*", r"\1", base)
    plain = stars < 2 and "&" not in words
    dtype = type_of(base, stars == 1, aliases) if plain else None
    return Parameter(name, base + "*" * stars, stars > 0, dtype, const)


def has_name(words):
    """True when the last word is the parameter's name and not (the last word of) its type."""
    return len(words) > 1 and re.match(r"\w", words[-1]) and words[-1] not in TYPE_WORDS


def type_of(base, pointer, aliases, depth=8):
    """NumPy type of a C++ spelling, following at most `depth` aliases; None when unknown."""
    spelling = canonical(NAMESPACE.sub("", base).split())
    if spelling in SCALARS:
        return np.dtype(SCALARS[spelling])
    if pointer and spelling in VECTORS:
        return np.dtype(VECTORS[spelling])
    target = aliases.get(spelling)
    return type_of(target, pointer, aliases, depth - 1) if target and depth else None


def canonical(words):
    """One spelling for types C++ lets one write in several ways (`long unsigned int`)."""
    if "char" not in words:
        words = [word for word in words if word != "signed"] or ["int"]
    if len(words) > 1:
        words = [word for word in words if word != "int"]
    return " ".join(sorted(words))


def type_aliases(text) -> dict[str, str | None]:
    """Names given to types by typedef, using and #define; None for one given twice."""
    aliases = {}
    for found in ALIAS.finditer(text):
        part = found.groupdict()
        name = part["tn"] or part["un"] or part["dn"]
        target = part["t"] or part["u"] or part["d"]
        aliases[name] = target if aliases.get(name, target) == target else None
    return aliases
