"""What takes too little of a step for anyone to notice."""

from roofline.program import Item, Program

WORTH = 0.02  # assumed: what takes less of a step is not worth a line


def visible(program: Program, item: Item) -> bool:
    """Whether the item takes a share of the step that anyone would notice."""
    busy_s = program.whole.busy_s
    return bool(busy_s and item.measured_s and item.measured_s / item.steps >= WORTH * busy_s)
