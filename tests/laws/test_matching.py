"""Launches that a profiler replayed one after the other are never taken for other kernels."""

from hypothesis import given
from hypothesis import strategies as st

from roofline.importers.matching import match


@st.composite
def recordings(draw):
    """Kernels of a few kinds, what they are for, and where a window of them was replayed."""
    step = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=12))
    meanings = [f"{kind}{draw(st.integers(0, 3))}" for kind in step]
    repeats = draw(st.integers(1, 4))
    kernels, means = step * repeats, meanings * repeats
    first = draw(st.integers(0, len(kernels) - 1))
    last = draw(st.integers(first + 1, len(kernels)))
    return kernels, means, first, last


@given(recordings())
def test_a_window_is_matched_with_its_own_meaning_or_not_at_all(recording):
    kernels, means, first, last = recording
    found = match(kernels, means, kernels[first:last])

    for truth, kernel in zip(range(first, last), found.kernels, strict=True):
        assert kernel is None or means[kernel] == means[truth]
    assert found.absent == frozenset()


@given(recordings())
def test_what_is_found_is_alike(recording):
    """Of launches in any order, and of kinds that no kernel is of."""
    kernels, means, first, last = recording
    launches = [*reversed(kernels[first:last]), "z"]
    found = match(kernels, means, launches)

    for launch, kernel in zip(launches, found.kernels, strict=True):
        assert kernel is None or kernels[kernel] == launch
    assert found.absent == {len(launches) - 1}


@given(recordings())
def test_the_whole_program_again_is_itself(recording):
    """Replayed from start to end nothing is ambiguous."""
    kernels, means, *_ = recording
    found = match(kernels, means, kernels)

    assert [means[kernel] for kernel in found.kernels] == means


@given(recordings())
def test_what_does_not_fit_is_not_taken(recording):
    kernels, means, first, last = recording
    found = match(kernels, means, kernels[first:last], lambda launch, kernel: False)

    assert set(found.kernels) == {None}
