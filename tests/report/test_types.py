"""The types of the page's script name what the document holds: no field more, none less."""

import re
from functools import cache
from pathlib import Path

import pytest

from roofline import ops
from roofline.program import single
from roofline.report.document import document as of_program
from roofline.report.document import of_run
from roofline.work import Work
from tests.report.test_beside import document as of_trace
from tests.roofs import HYPOTHETICAL
from tests.runs import Script, call, tensor

TYPES = Path(__file__).parents[2] / "web" / "src" / "document.ts"
FIELD = re.compile(r"^  (\w+)(\??): ([^;]+);", re.MULTILINE)


@cache
def interfaces():
    """name -> field -> (may be left out, its type as written)."""
    text = TYPES.read_text()
    found = re.findall(r"^export interface (\w+) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    return {
        name: {field: (bool(mark), kind) for field, mark, kind in FIELD.findall(body)}
        for name, body in found
    }


def within(name, value, where):
    """Every object that an interface describes, with that interface and its place."""
    yield name, value, where
    for field, (_, kind) in interfaces()[name].items():
        for other in interfaces():
            if re.search(rf"\b{other}\b", kind):
                for part in parts(value.get(field), "Record<" in kind):
                    yield from within(other, part, f"{where}.{field}")


def differences(document):
    """Fields that only one of the two has, here and in what stands within."""
    for name, value, where in within("Placement", document, "document"):
        fields = interfaces()[name]
        yield from (f"{where}.{key} has no type in {name}" for key in value if key not in fields)
        needed = (field for field, (optional, _) in fields.items() if not optional)
        yield from (
            f"{where} has no {field}, as {name} has" for field in needed if field not in value
        )


def parts(value, by_name):
    """The objects of one field: itself, those of a list, those of a record by name."""
    if isinstance(value, dict):
        return [each for each in value.values() if each] if by_name else [value]
    return [each for each in value or () if isinstance(each, dict)]


def of_an_operator():
    work = Work(algorithmic=ops.gemm(m=8, n=8, k=8, dtype="fp16"))
    return of_program(single("gemm", work, HYPOTHETICAL, 1e-3))


def of_a_recording():
    x = tensor(64, 64)
    return of_run(Script().add(call("aten::mm", x, x, out=x), 10.0).end_step().run())


MADE = {
    "operator": of_an_operator,
    "recording": of_a_recording,
    "trace with counters of replays": lambda: of_trace("ln_hand"),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_every_field_has_a_type_and_every_type_a_field(made):
    assert sorted(set(differences(made()))) == []


def test_every_interface_is_met_in_one_of_the_documents():
    """Else its fields were not compared."""
    met = {name for made in MADE.values() for name, *_ in within("Placement", made(), "document")}

    assert interfaces().keys() - met == set()
