"""What things are called for people, whichever profiler wrote their names."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count

_CUT = "\N{HORIZONTAL ELLIPSIS}"
_NAMELESS = "(anonymous namespace)"
_QUALIFIER = re.compile(r"(?:(?:<unnamed>|\(anonymous namespace\)|\w+)::)+")
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


def brief(name: str) -> str:
    """A kernel's name without qualifiers and its template's insides.

    >>> brief("void at::native::reduce_kernel<128, 4, float>"), brief("<unnamed>")
    ('reduce_kernel', '<unnamed>')
    """
    plain = readable(name).replace("<unnamed>::", "")
    return re.sub(r"<.*", "", plain).rsplit("::", maxsplit=1)[-1] or name


def told_apart(names: Iterable[str], width: int = 60) -> dict[str, str]:
    """A short name for each kernel, of at most `width` characters, for no two of them alike.

    Instantiations of one template show an argument that differs.

    >>> [*told_apart(["at::k<4, at::Add<float>>", "at::k<4, at::Mul<float>>", "at::q<4>"]).values()]
    ['k<Add>', 'k<Mul>', 'q']
    >>> [*told_apart(["mine::k", "its::k", "k<a::T>", "k<b::T>"]).values()]
    ['mine::k', 'its::k', 'k<a::T>', 'k<b::T>']
    """
    plain = {name: _plain(name) for name in names}
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(plain.values()):
        alike.setdefault(brief(name), []).append(name)
    marked: dict[str, str] = {}
    for short, group in alike.items():
        heads = [_arguments(name)[0] for name in group]
        for head in dict.fromkeys(heads):
            own = [name for name, its in zip(group, heads, strict=True) if its == head]
            called = short if len({*heads}) == 1 else head
            for name, mark in zip(own, _marks(own), strict=True):
                marked[name] = f"{called}<{mark}>" if mark else called
    seen: Counter[str] = Counter()
    for name, called in marked.items():
        seen[called] += 1
        if seen[called] > 1:
            marked[name] = f"{called} #{seen[called]}"
    short_of = dict(zip(marked, fitted([*marked.values()], width), strict=True))
    return {name: short_of[its] for name, its in plain.items()}


def _plain(name: str) -> str:
    """Without parameters, which stand close to a name: "compiled f #1 (forward)" has none."""
    without = readable(name)
    return (name if without.endswith(" ") else without).replace("<unnamed>", _NAMELESS)


def fitted(names: Sequence[str], width: int) -> list[str]:
    """Different `names` within `width` characters, as different; equal ones stay equal.

    >>> fitted(["attention", "attention_forward", "attention_backward"], 9)
    ['attention', 'atte…ward', 'at…ckward']
    """
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    different = dict.fromkeys(names)
    begins = Counter(_end_cut(name, width) for name in different)
    # What fits as it is keeps its name, whichever comes first.
    for name in sorted(different, key=lambda name: len(name) > width):
        begin = _end_cut(name, width)
        alone = [begin] if begins[begin] == 1 or begin == name else []
        ways = chain(
            alone, _middle_cuts(name, width), (_numbered(name, n, width) for n in count(2))
        )
        chosen[name] = next(way for way in ways if way not in taken)
        taken.add(chosen[name])
    return [chosen[name] for name in names]


def _end_cut(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 1]}{_CUT}"


def _middle_cuts(name: str, width: int) -> Iterator[str]:
    """More and more of its end left."""
    for kept in (width // 2, 3 * width // 4):
        yield f"{name[: width - 1 - kept]}{_CUT}{name[len(name) - kept :]}"


def _numbered(name: str, number: int, width: int) -> str:
    mark = f" #{number}"
    return _end_cut(name, width - len(mark)) + mark


def _marks(names: Sequence[str]) -> list[str]:
    """What tells each name from the others: of template arguments the first that does, of names
    that are built differently all of them; "" for a name that stands alone.
    """
    if len({*names}) == 1:
        return [""] * len(names)
    names = [" ".join(name.split()) for name in names]
    if not _built_alike(names):
        short = [_unqualified(name) for name in names]
        return short if len({*short}) == len({*names}) else [*names]
    inside = [_arguments(name)[1] for name in names]
    differing = [_told(column) for column in zip(*inside, strict=True) if len({*column}) > 1]
    telling = next((each for each in differing if len({*each}) == len({*names})), None)
    if telling or not differing:
        return telling or [""] * len(names)  # the same but for spaces
    return [", ".join(texts) for texts in zip(*differing, strict=True)]


def _told(texts: Sequence[str]) -> list[str]:
    """Template arguments as short as they stay different: their heads, else what is inside."""
    alike: dict[str, list[str]] = {}
    for text in texts:
        head = _unqualified(text)
        alike.setdefault(re.split(r"[<(]", head, maxsplit=1)[0] or head, []).append(text)
    mark_of: dict[str, str] = {}
    for head, group in alike.items():
        for text, mark in zip(group, _marks(group), strict=True):
            within = f"{head}<{mark}>" if _built_alike(group) else mark
            mark_of[text] = within if mark else head
    return [mark_of[text] for text in texts]


def _built_alike(names: Sequence[str]) -> bool:
    """Whether they are one template with other arguments."""
    parts = [_arguments(name) for name in names]
    return len({(head, len(inside), tail) for head, inside, tail in parts}) == 1


def _unqualified(name: str) -> str:
    return _QUALIFIER.sub("", name.removeprefix("void "))


def _arguments(name: str) -> tuple[str, tuple[str, ...], str]:
    """What stands before the first template's arguments, these, and what follows them."""
    head, opened, rest = name.partition("<")
    if not opened:
        return name, (), ""
    depth, inside, begun = 0, list[str](), 0
    for at, letter in enumerate(rest):
        if letter == ">" and depth == 0:
            return head, (*inside, rest[begun:at].strip()), rest[at + 1 :]
        depth += (letter in "<({[") - (letter in ">)}]")
        if letter == "," and depth == 0:
            inside.append(rest[begun:at].strip())
            begun = at + 1
    return name, (), ""  # a name that was cut
