"""Views of a batch: rewritten for another batch they are the same views of the other batch."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.call import Tensor
from roofline.program.batch.carried import Batch, Unclear, carried, rewritten, steps_of

SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=3)
PART = st.floats(0, 1, exclude_max=True)


def seen(tensor):
    return Tensor(
        tuple(tensor.shape), strides=tuple(tensor.stride()), offset=tensor.storage_offset()
    )


def block(sizes, at, batch):
    """A contiguous tensor with the batch as dimension `at`."""
    return torch.empty([*sizes[:at], batch, *sizes[at:]])


@st.composite
def views(draw):
    """Sizes, where the batch stands among them, and steps that make a view of any such tensor."""
    sizes = draw(SIZES)
    rank, steps = len(sizes) + 1, []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["permute", "flatten", "narrow", "select", "unsqueeze"]))
        if kind == "permute":
            steps.append((kind, tuple(draw(st.permutations(range(rank))))))
        elif kind == "unsqueeze":
            steps.append((kind, draw(st.integers(0, rank))))
            rank += 1
        elif rank > 1:
            last = rank - 2 if kind == "flatten" else rank - 1
            steps.append((kind, draw(st.integers(0, last)), draw(PART)))
            rank -= kind != "narrow"
    return sizes, draw(st.integers(0, len(sizes))), steps


def view(tensor, at, steps):
    """`tensor` through `steps`; None where one would copy, or would cut the batch (in `at`)."""
    has = [dim == at for dim in range(len(tensor.shape))]
    for kind, where, *part in steps:
        if kind == "permute":
            tensor, has = tensor.permute(where), [has[dim] for dim in where]
        elif kind == "unsqueeze":
            tensor = tensor.unsqueeze(where)
            has.insert(where, False)
        elif kind == "flatten":
            shape = list(tensor.shape)
            shape[where : where + 2] = [shape[where] * shape[where + 1]]
            try:
                tensor = tensor.view(shape)
            except RuntimeError:
                return None
            has[where : where + 2] = [has[where] or has[where + 1]]
        elif has[where]:
            return None
        elif kind == "narrow":
            start = int(part[0] * tensor.shape[where])
            tensor = tensor.narrow(where, start, tensor.shape[where] - start)
        else:
            tensor = tensor.select(where, int(part[0] * tensor.shape[where]))
            del has[where]
    return tensor


@settings(max_examples=400, deadline=None)
@given(views(), st.integers(2, 5), st.integers(1, 9))
def test_a_rewritten_view_is_the_view_of_the_other_batch(made, now, then):
    sizes, at, steps = made
    base = block(sizes, at, now)
    one, other = view(base, at, steps), view(block(sizes, at, then), at, steps)
    if one is None or other is None:
        return
    memory = steps_of(seen(base), {at: 1})
    try:
        dims = carried(seen(one), memory, now)
    except Unclear:
        return
    found = rewritten(seen(one), dims, memory, Batch(now, then))

    assert found.shape == tuple(other.shape)
    assert found.offset == other.storage_offset()
    # The stride of a dimension of one element says nothing.
    wide = [dim for dim, size in enumerate(other.shape) if size > 1 and one.shape[dim] > 1]
    assert [found.strides[dim] for dim in wide] == [other.stride()[dim] for dim in wide]


@given(SIZES.flatmap(lambda s: st.tuples(st.just(s), st.permutations(range(len(s) + 1)))),
       st.integers(0, 3), st.integers(2, 5))  # fmt: skip
def test_wherever_it_is_moved_the_batch_is_found(made, at, now):
    sizes, order = made
    at = min(at, len(sizes))
    base = block(sizes, at, now)
    memory = steps_of(seen(base), {at: 1})

    assert carried(seen(base.permute(order)), memory, now) == {order.index(at): 1}
