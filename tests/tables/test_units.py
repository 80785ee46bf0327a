"""Prefixes and spellings: every one, both ways.  One wrong power of ten here is a wrong product."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from roofline.errors import BadInput
from roofline.units import (
    BELOW_ONE,
    BINARY,
    DECIMAL,
    SPELLINGS,
    number_of,
    parse,
    show,
    show_binary,
)

EXPONENTS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BASE_UNITS = sorted(set(SPELLINGS.values()))


def test_no_prefix_is_untested():
    """The tables here and in the library name the same prefixes."""
    assert DECIMAL.keys() == EXPONENTS.keys()
    assert BINARY.keys() == {"Ki", "Mi", "Gi", "Ti"}


PREFIXED = [
    (prefix, unit)
    for prefix in EXPONENTS
    for unit in BASE_UNITS
    if unit != "flop/B" and (unit == "s" or prefix not in BELOW_ONE)
]


@pytest.mark.parametrize(("prefix", "unit"), PREFIXED)
def test_decimal_prefix(prefix, unit):
    """Each decimal prefix is its power of ten, read exactly and written."""
    exponent = EXPONENTS[prefix]
    assert parse(f"2 {prefix}{unit}", unit) == float(f"2e{exponent}")
    assert show(float(f"2e{exponent}"), unit) == f"2.00 {prefix}{unit}"


@pytest.mark.parametrize("prefix", ["n", "u", "m", "\N{MICRO SIGN}"])
@pytest.mark.parametrize("unit", [u for u in BASE_UNITS if u != "s"])
def test_no_thousandth_of_what_is_counted(prefix, unit):
    """12 mB is a mistaken 12 MB: refused, and never written either."""
    with pytest.raises(BadInput, match=rf"quantity in {unit}, .* is a prefix of s alone"):
        parse(f"12 {prefix}{unit}", unit)
    assert show(0.0125, unit) == f"0.0125 {unit}"


@pytest.mark.parametrize(("prefix", "exponent"), [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40)])
def test_binary_prefix(prefix, exponent):
    """Each binary prefix is its power of two, and is never written for a rate or a decimal unit."""
    assert parse(f"1 {prefix}B", "B") == 2**exponent
    assert show_binary(2**exponent) == f"1 {prefix}B"
    assert prefix not in show(2.0**exponent, "B")


@pytest.mark.parametrize(("spelling", "unit"), SPELLINGS.items())
def test_every_spelling(spelling, unit):
    """With and without the space, with the prefix M."""
    assert parse(f"3 M{spelling}", unit) == parse(f"3M{spelling}", unit) == 3e6


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("120 TFLOP/s", "flop/s", 120e12),
        ("120 Tflop/s", "flop/s", 120e12),
        ("120TFLOPS", "flop/s", 120e12),
        ("1979 TOPS", "op/s", 1979e12),
        ("2 TB/s", "B/s", 2e12),
        ("672 GB/s", "B/s", 672e9),
        ("1 GiB", "B", 1073741824),
        ("17 us", "s", 17e-6),
        ("17 \N{MICRO SIGN}s", "s", 17e-6),
        ("17 \N{GREEK SMALL LETTER MU}s", "s", 17e-6),
        ("1.5e3 GB/s", "B/s", 1.5e12),
        (".5 ms", "s", 0.5e-3),
        ("156 flop/B", "flop/B", 156),
        ("1.98 GHz", "Hz", 1.98e9),
    ],
)
def test_spellings_people_use(text, unit, value):
    assert parse(text, unit) == value


@pytest.mark.parametrize(
    "text",
    ["4.8", "4.8 TB", "4.8 Tb/s", "4.8 KB/s", "4.8 ti B/s", "-1 B/s", "fast", "", "1,000 B/s",
     "nan B/s", "inf B/s", "1e999 B/s", "0x10 B/s", "2 TB/s extra", "2 TFLOP/s", "1 KiMB/s"],
)  # fmt: skip
def test_refuses_anything_else(text):
    """The message says what would have been accepted and repeats what came."""
    with pytest.raises(BadInput, match=r"quantity in B/s") as caught:
        parse(text, "B/s")
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "B", "0 B"),
        (999.4, "B", "999 B"),
        (999.6, "B", "1.00 kB"),
        (999_960, "B", "1.00 MB"),
        (1e-6, "s", "1.00 us"),
        (16.785408e-6, "s", "16.8 us"),
        (2.5e-10, "s", "0.25 ns"),
        (1.5e21, "flop", "1500 Eflop"),
        (2.834e-13, "s", "2.83e-13 s"),
        (295.2238, "flop/B", "295 flop/B"),
        (0.0833, "flop/B", "0.0833 flop/B"),
        (9.999e12, "flop/s", "10.0 Tflop/s"),
    ],
)
def test_rounding(value, unit, text):
    assert show(value, unit) == text


@given(
    st.floats(min_value=1e-9, max_value=9e20),
    st.sampled_from([u for u in BASE_UNITS if u != "flop/B"]),
)
def test_round_trip(value, unit):
    """What is shown reads back to within the three digits shown."""
    assert math.isclose(parse(show(value, unit), unit), value, rel_tol=5.001e-3)


@given(
    st.sampled_from(sorted(DECIMAL) + sorted(BINARY)),
    st.sampled_from(sorted(SPELLINGS)),
    st.integers(1, 10**6),
)
def test_parse_is_linear_in_the_number(prefix, spelling, number):
    """n of a unit is n times one of it, for every prefix and spelling."""
    unit = SPELLINGS[spelling]
    assume(unit == "s" or prefix not in BELOW_ONE)
    one = parse(f"1 {prefix}{spelling}", unit)
    assert math.isclose(parse(f"{number} {prefix}{spelling}", unit), number * one, rel_tol=1e-12)


@pytest.mark.parametrize(
    ("number", "noun", "written"),
    [
        (1, "kernel", "1 kernel"),
        (1.0, "more line", "1 more line"),
        (0, "call", "0 calls"),
        (1.004, "call", "1 call"),  # three digits are 1.00
        (0.5, "call", "0.5 calls"),
        (183.5, "kernel", "184 kernels"),
        (2, "copy", "2 copies"),
        (2, "day", "2 days"),
        (2, "launch", "2 launches"),
        (9999, "fault", "9999 faults"),
        (10_000, "fault", "10,000 faults"),
    ],
)
def test_numbers_of_things(number, noun, written):
    """One is singular, all else plural, and no number has more digits than its size deserves."""
    assert number_of(number, noun) == written
