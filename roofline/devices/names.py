"""Which device a name means: what people type, and what tools print.

A name is first compared as a whole with every id and alias; spelling (case, spaces, dashes,
underscores) and the maker's name in front do not matter.  Failing that it is compared word by
word: it must hold every word that tells the product apart, and may leave out brands, form factors
and memory sizes.  So "h200" is enough, "rtx 2080" is not an RTX 2080 Ti, and "h100" is three
devices.
"""

import re
from collections.abc import Iterable, Mapping

from roofline.errors import NotFound, near

MAKERS = re.compile(r"^(nvidia|amd|intel|google|apple)(?=.)")
# Words of an id that say who made it or which line it belongs to.
BRANDS = frozenset({
    "nvidia", "geforce", "tesla", "rtx", "jetson",
    "amd", "instinct", "radeon", "intel", "google", "tpu", "apple",
})  # fmt: skip
# Words that tell members of one product apart: form factor, memory, part of the package.
MEMBER = re.compile(r"sxm\d*|pcie|nvl|\d+gb|\d+gpu|package|gcd|workstation|server")
SHOWN = 8  # candidates in an error message

_MARKS = re.compile(r"\((?:r|tm)\)")
_BRANDED = re.compile(rf"^(?:{'|'.join(sorted(BRANDS))})+(?=.)")
_SEPARATORS = re.compile(r"[^a-z0-9+]+")


def spelled(name: str) -> str:
    """`name` without case, spaces, dashes, underscores and trade marks.

    >>> spelled("Intel(R) Xeon(R) Platinum 8480+"), spelled("h100_SXM5 80GB")
    ('intelxeonplatinum8480+', 'h100sxm580gb')
    """
    return _SEPARATORS.sub("", _MARKS.sub("", name.lower()))


def match(name: str, names: Mapping[str, Iterable[str]]) -> str:
    """The id in `names` (id -> aliases) that `name` means.

    A name that fits several devices, or none, raises NotFound with the candidates.
    """
    found = candidates(name, names)
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{name!r} is more than one device: {_listed(found)}; name one of them")
    close = _close(name, names)
    nearest = "the nearest are" if len(close) > 1 else "the nearest is"
    hint = f"{nearest} {', '.join(close)}; " if close else ""
    raise NotFound(f"no device {name!r}; {hint}`roofline devices` lists the {len(names)} there are")


def candidates(name: str, names: Mapping[str, Iterable[str]]) -> list[str]:
    """The ids in `names` that `name` may mean."""
    key = _unmade(name)
    for device_id, others in names.items():
        if key and key in (_unmade(device_id), *map(_unmade, others)):
            return [device_id]
    return [device_id for device_id in names if _fits(_words(name), _words(device_id))]


def _unmade(name: str) -> str:
    return MAKERS.sub("", spelled(name))


def _words(name: str) -> set[str]:
    return set(_SEPARATORS.split(_MARKS.sub("", name.lower()))) - {""}


def _telling(known: set[str]) -> set[str]:
    return {word for word in known - BRANDS if not MEMBER.fullmatch(word)}


def _fits(asked: set[str], known: set[str]) -> bool:
    # "sxm" is enough for "sxm5", but "sxm4" is another module.
    allowed = known | BRANDS | {"sxm" for word in known if word.startswith("sxm")}
    return _telling(known) <= asked <= allowed


def _close(name: str, names: Mapping[str, Iterable[str]]) -> list[str]:
    """Devices that share a telling word with `name`, then those that are spelled nearly so.

    Makers and brands are left out of the comparison: they are no part of what was mistyped.
    """
    asked = _words(name)
    related = [device_id for device_id in names if _telling(_words(device_id)) & asked]
    spellings: dict[str, list[str]] = {}
    for device_id, more in names.items():
        product = [w for w in device_id.split("-") if w in _telling(_words(device_id))]
        for text in {"".join(product), *map(_unbranded, (device_id, *more))}:
            spellings.setdefault(text, []).append(device_id)
    alike = [found for text in near(_unbranded(name), spellings) for found in spellings[text]]
    return list(dict.fromkeys(related + alike))[:SHOWN]


def _unbranded(name: str) -> str:
    return _BRANDED.sub("", spelled(name))


def _listed(found: list[str]) -> str:
    more = len(found) - SHOWN
    return ", ".join(found[:SHOWN]) + (f" and {more} more" if more > 0 else "")
