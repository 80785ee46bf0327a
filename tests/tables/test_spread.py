"""Order statistics against textbook values."""

import pytest

from roofline.errors import BadInput
from roofline.provenance import spread


@pytest.mark.parametrize(
    ("n", "low", "high"),
    [
        # Smallest interval [x_r, x_(n+1-r)] with coverage of at least 95 %, from binomial(n, 1/2).
        (5, None, None),  # 2 * 1/32 = 6.25 % outside: none
        (6, 1, 6),  # 2 * 1/64 = 3.1 % outside
        (9, 2, 8),  # 2 * (1 + 9)/512 = 3.9 %
        (20, 6, 15),  # 2 * P(X <= 5) = 4.14 %
        (50, 18, 33),  # 2 * P(X <= 17) = 3.28 %
        (3000, 1446, 1555),  # 2 * P(X <= 1445) = 4.66 %; by the normal approximation
    ],
)
def test_interval_of_the_median(n, low, high):
    s = spread([float(i) for i in range(1, n + 1)])
    assert (s.low, s.high) == (low, high)


def test_quartiles_interpolate():
    """0 1 2 3: median 1.5, quartiles 0.75 and 2.25."""
    s = spread([3.0, 0.0, 2.0, 1.0], best="min")
    assert (s.n, s.median, s.q1, s.q3, s.best) == (4, 1.5, 0.75, 2.25, 0.0)


@pytest.mark.parametrize("samples", [[], [float("nan")], [1.0, float("inf")]])
def test_nothing_finite_is_refused(samples):
    with pytest.raises(BadInput, match="a spread needs finite samples"):
        spread(samples)
