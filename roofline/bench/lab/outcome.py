"""What an experiment found, in a form that a table, a document and a chart can take."""

from dataclasses import dataclass
from typing import Literal

Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class Question:
    """What can be predicted before measuring."""

    text: str
    unit: str  # "flop/B", "s", "" is a plain ratio
    hint: str  # how one may come to a guess


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table."""

    name: str
    unit: str = ""  # "" is text or a plain number


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One experiment on one device."""

    experiment: Literal["dial", "matmul", "launch", "banks"]
    device: str
    kind: Literal["cpu", "gpu"]
    question: Question
    answer: float | None  # in the question's unit; None is not found
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
