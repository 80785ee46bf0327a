"""What things are called for people, whichever profiler wrote their names."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    stays as it is, and so do words: parameters stand close to a name.

    >>> readable("void gemm_v0<float>(T1 *, int)"), readable("_ZN2at6native4gemmIfEEvPT_")
    ('gemm_v0<float>', 'at::native::gemm')
    >>> readable("Memset (Device)"), readable("compiled f #1 (forward)")
    ('Memset (Device)', 'compiled f #1 (forward)')
    >>> readable("unnamed>::saxpy_kernel(float, const float *)")
    'unnamed>::saxpy_kernel'
    """
    name = _whole(name)
    if name.startswith("_Z"):
        return _demangled(name) or name
    without = name[: _opening(name)] if name.endswith(")") else name
    return name if not without or without.endswith(" ") else without


def _whole(name: str) -> str:
    """A name with its parameters; what profilers add to it and spell differently is left out."""
    name = " ".join(name.split()).removesuffix(" [clone .kd]").removesuffix(".kd")
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
    >>> brief("Memset (Device)")
    'Memset (Device)'
    """
    plain = readable(name).replace("<unnamed>::", "")
    if plain.endswith(")"):  # words
        return plain
    return re.sub(r"<.*", "", plain).rsplit("::", maxsplit=1)[-1] or name


def told_apart(names: Iterable[str], width: int = 60) -> dict[str, str]:
    """A short name for each kernel, of at most `width` characters, for no two of them alike.

    Instantiations of one template show an argument that differs, overloads their parameters; what
    is alike still, as mangled names are, is numbered.  ``void`` and spaces make no other kernel.

    >>> [*told_apart(["at::k<4, at::Add<float>>", "at::k<4, at::Mul<float>>", "at::q<4>"]).values()]
    ['k<Add>', 'k<Mul>', 'q']
    >>> [*told_apart(["mine::k", "its::k", "k<a::T>", "k<b::T>"]).values()]
    ['mine::k', 'its::k', 'k<a::T>', 'k<b::T>']
    >>> [*told_apart(["a::k", "a::k<int>", "a::f(int)", "a::f(a::T*)"]).values()]
    ['k', 'k<int>', 'f(int)', 'f(a::T*)']
    """
    whole = {
        name: _whole(name).replace("<unnamed>", _NAMELESS).replace(" >", ">") for name in names
    }
    plain = {name: readable(name) for name in whole.values()}
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(plain.values()):
        alike.setdefault(brief(name), []).append(name)
    called = {name: its for short, group in alike.items() for name, its in _called(short, group)}
    overloads = Counter(plain.values())
    marked = {
        name: called[its]
        + (name.removeprefix(its) if overloads[its] > 1 and name.startswith(its) else "")
        for name, its in plain.items()
    }
    apart = numbered(marked)
    short_of = dict(zip(apart, fitted([*apart.values()], width), strict=True))
    return {name: short_of[its] for name, its in whole.items()}


def _called(short: str, group: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each name of a group that is `short` without qualifiers and templates, told apart."""
    heads = [_arguments(name)[0] for name in group]
    several = len({*heads}) > 1
    for head in dict.fromkeys(heads):
        own = [name for name, its in zip(group, heads, strict=True) if its == head]
        if len(own) > 1 and not _built_alike(own):
            yield from zip(own, own if several else _briefly(own), strict=True)
            continue
        for name, mark in zip(own, _marks(own), strict=True):
            start = head if several else short
            yield name, f"{start}<{mark}>" if mark else start


def numbered(called: Mapping[str, str]) -> dict[str, str]:
    """What is `called` like another gets a number.

    >>> numbered({"a": "k", "b": "k", "c": "q"})
    {'a': 'k', 'b': 'k #2', 'c': 'q'}
    """
    taken, apart = {*called.values()}, dict[str, str]()
    seen: Counter[str] = Counter()
    for name, its in called.items():
        seen[its] += 1
        ways = (f"{its} #{n}" for n in count(seen[its]))
        apart[name] = its if seen[its] == 1 else next(way for way in ways if way not in taken)
        taken.add(apart[name])
    return apart


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
        return _briefly(names)
    inside = [_arguments(name)[1] for name in names]
    differing = [_told(column) for column in zip(*inside, strict=True) if len({*column}) > 1]
    telling = next((each for each in differing if len({*each}) == len({*names})), None)
    if telling or not differing:
        return telling or [""] * len(names)  # the same but for spaces
    return [", ".join(texts) for texts in zip(*differing, strict=True)]


def _briefly(names: Sequence[str]) -> list[str]:
    """Without qualifiers, where they are as different without."""
    short = [_unqualified(name) for name in names]
    return short if len({*short}) == len({*names}) else [*names]


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
