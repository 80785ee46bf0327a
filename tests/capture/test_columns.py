"""Events that were added when a signal ended the program: what is whole stays whole."""

from array import array

import numpy as np
import pytest

from roofline.capture.columns import OP, OTHER, Columns

CONTEXT = (OP, OTHER, 0, 0)


class Torn(array):
    """Memory in whose way a signal comes, once."""

    def extend(self, items):
        if self.signal == "before":
            self.signal = ""
            raise SystemExit(143)
        super().extend(items)
        if self.signal == "after":
            self.signal = ""
            raise SystemExit(143)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("part", ["_rows", "_storages"])
def test_a_signal_within_an_event_spoils_no_other(part, moment):
    """Three events; a signal comes while the second is added, and the program records one more."""
    columns = Columns()
    torn = Torn("q")
    torn.signal = ""
    setattr(columns, part, torn)
    columns.add(0, 10, 1, CONTEXT, reads=(1, 2), writes=(3,))
    torn.signal = moment
    with pytest.raises(SystemExit):
        columns.add(1, 20, 1, CONTEXT, reads=(4,), writes=(5, 6))
    columns.add(2, 30, 1, CONTEXT, reads=(7,), writes=(8,))

    table = columns.table(steps=np.zeros(len(columns), dtype=np.int32), origin=0)
    found = {s: (r, w) for s, r, w in zip(*(table[n].to_pylist() for n in
             ("signature", "reads", "writes")), strict=True)}  # fmt: skip
    whole = {0: ([1, 2], [3]), 1: ([4], [5, 6]), 2: ([7], [8])}
    assert found == {s: whole[s] for s in found}
    assert {0, 2} <= set(found)
