"""What things are called for people, whichever profiler wrote their names."""

import re

_MANGLED = re.compile(r"_Z(?:L)?(?P<nested>N)?[KVRr]*")
_LENGTH = re.compile(r"\d+")
_ANONYMOUS = "_GLOBAL__N_"


def readable(name: str) -> str:
    """A kernel's name without return type and parameters; template arguments stay.

    A mangled name becomes its qualified name, without template arguments.  A name that was cut
    stays as it is.

    >>> readable("void gemm_v0<float>(T1 *, int)"), readable("_ZN2at6native4gemmIfEEvPT_")
    ('gemm_v0<float>', 'at::native::gemm')
    >>> readable("unnamed>::saxpy_kernel(float, const float *)")
    'unnamed>::saxpy_kernel'
    """
    name = " ".join(name.split())
    if name.startswith("_Z"):
        return _demangled(name) or name
    name = name.removesuffix(" [clone .kd]").removesuffix(".kd")
    if name.endswith(")"):
        name = name[: _opening(name)] or name
    return name.removeprefix("void ")


def printable(text: str) -> str:
    """`text` with every character spelled out that a terminal would obey rather than show.

    >>> printable("k\\x1b[2J"), printable("relu <a, b>")
    ('k\\\\x1b[2J', 'relu <a, b>')
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def _opening(name: str) -> int:
    """Where the last parenthesis of a name opens; its end where it never does."""
    depth = 0
    for position in range(len(name) - 1, -1, -1):
        depth += (name[position] == ")") - (name[position] == "(")
        if depth == 0:
            return position
    return len(name)


def _demangled(name: str) -> str | None:
    """The qualified name inside an Itanium-mangled one: its length-prefixed identifiers."""
    start = _MANGLED.match(name)
    if start is None:
        return None
    parts: list[str] = []
    at = start.end()
    while length := _LENGTH.match(name, at):
        at = length.end() + int(length.group()[:6])
        part = name[length.end() : at]
        if len(part) < int(length.group()[:6]):
            break  # cut
        parts.append("(anonymous)" if part.startswith(_ANONYMOUS) else part)
        if not start["nested"]:
            break
        if name[at : at + 1] == "I":  # template arguments: what follows belongs to them
            break
    return "::".join(parts) or None
