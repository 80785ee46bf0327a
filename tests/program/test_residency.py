"""Where the data of a call was: reuse distances, worked out by hand and against a plain search."""

from hypothesis import given
from hypothesis import strategies as st

from roofline.call import Call
from roofline.device import DRAM, L1, L2, Ceiling
from roofline.program import read
from roofline.program.boundary.residency import NEVER, reaches
from roofline.report.document import of_run
from tests.runs import MEASURED, Script, call, device, tensor

KB = tensor(250)  # 1000 B of fp32


def rows(*touches):
    """One call an entry: (reads, writes), every tensor 1000 B."""
    calls = [Call("x", (KB,) * len(r), (KB,) * len(w)) for r, w in touches]
    return [(i, r, w) for i, (r, w) in enumerate(touches)], calls


def test_distances_by_hand():
    """1 is read after 2 (2000 B with itself), then after 3 and 4 (3000 B)."""
    made = rows(((1,), (2,)), ((1,), ()), ((3,), (4,)), ((1,), ()), ((2,), ()))

    # 2 was written first of all; since then 1, 3, 4 were touched, and itself: 4000 B
    assert list(reaches(*made)) == [NEVER, 2000, NEVER, 3000, 4000]


def test_the_larger_operand_decides():
    """x (1000 B) is near, w (9000 B) is far: most bytes are far."""
    big = tensor(2250)
    calls = [Call("x", (big,)), Call("x", (KB,)), Call("x", (KB, big))]
    made = [
        (0, (1,), ()),
        (1, (2,), ()),
        (2, (2, 1), ()),
    ]
    assert list(reaches(made, calls)) == [NEVER, NEVER, 9000 + 1000]


def test_without_storages_nothing_is_said():
    assert list(reaches([(0, None, None)], [Call("x", (KB,))])) == [None]
    assert list(reaches([(0, (1,), ())], [None])) == [None]


@given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=3, unique=True), max_size=25))
def test_distance_is_what_a_plain_search_finds(history):
    made, calls = rows(*((tuple(touched), ()) for touched in history))
    got = list(reaches(made, calls))

    for i, touched in enumerate(history):
        found = []
        for storage in touched:
            before = [j for j in range(i) if storage in history[j]]
            if not before:
                found.append(NEVER)
                continue
            # order within one call: later operands are touched later
            seen = history[before[-1]][history[before[-1]].index(storage) :]
            others = {*seen, *(s for j in range(before[-1] + 1, i) for s in history[j])}
            found.append(1000 * len(others))
        assert got[i] == sorted(found)[(len(found) - 1) // 2]


def test_weights_that_are_far_apart_cross_dram_although_each_fits():
    """Four 360 kB matrices, one after the other, twice: 1.44 MB do not fit the 1 MB L2."""
    weight, x = tensor(300, 300), tensor(1, 300)
    product = call("aten::mm", x, weight, out=x)
    script = Script()
    for token in range(2):
        for layer in range(4):
            script.add(product, 100, reads=(50, layer), writes=(60 + 4 * token + layer,))
    (far,) = read(script.end_step().run()).by("call")

    same = Script()
    for token in range(8):
        same.add(product, 100, reads=(50, 1), writes=(60 + token,))
    first, again = read(same.end_step().run()).parts

    assert far.placed_at == DRAM
    assert (first.once.placed_at, first.calls) == (DRAM, 1)  # nobody has touched it before
    assert (again.once.placed_at, again.calls) == (L2, 7)


def test_what_lies_beyond_is_null():
    """12 kB in an L1 of 32 kB: no bytes of the L2 and of memory, which is not to say unknown ones.

    Nobody knows an L3 of this device: there is no line of it.
    """
    near = Ceiling(resource=L1, rate=1e12, provenance=MEASURED, capacity=32_000)
    add = call("aten::add", tensor(1000), tensor(1000), 1, out=tensor(1000))
    script = Script()
    for warmup in (True, False):  # before the first call nobody has touched it
        for _ in range(3):
            script.add(add, 10, reads=(1, 2), writes=(3,))
        script.end_step(warmup)
    (warm,) = of_run(script.run(device(near)))["items"]

    assert warm["placed_at"] == "l1"
    assert warm["demand"] == {"vector-fp32": 3 * 1000, "l1": 3 * 12_000, "l2": None, "dram": None}
