"""What was timed, told apart from under which circumstances."""

from dataclasses import replace
from datetime import date

import pytest

from roofline.device import DRAM, Ceiling
from roofline.devices.method import alike, method
from roofline.provenance import Basis, Provenance

WHERE = Provenance(basis=Basis.MEASURED, source="torch.mm, 8 x 8 x 8", as_of=date(2026, 1, 2))
CARD = (
    "clock inside the kernel 1935 MHz; clock between samples 1980 MHz (1965 to 1980); "
    "before 1980 MHz, 160 W, 39 C; after 1980 MHz, 176 W, 40 C, sw power cap; driver 580.1; "
    "power cap 700 W; highest clock 1980 MHz; ECC on; MIG off; torch 2.11.0+cu130; CUDA 13.0; "
    "triton 3.6.0; GPU 648ac89b; code 9bdb999c0f3f; 2026-11-30T09:39:59Z"
)
CPU = (
    "Toy 9000; threads pinned to CPUs 0, 1; one NUMA node; wall clock against CPU time; Linux 6; "
    "gcc 12.2.0 -O3; 12 of 13 samples undisturbed; 2026-11-30T10:16:14Z"
)


def of(source="torch.mm, 8 x 8 x 8", conditions=""):
    where = replace(WHERE, source=source, conditions=conditions)
    return method(Ceiling(resource=DRAM, rate=1e9, provenance=where), "Toy 9000")


@pytest.mark.parametrize("circumstances", [CARD, CPU])
def test_circumstances_are_no_method(circumstances):
    assert of(conditions=circumstances) == ("torch.mm, 8 x 8 x 8",)
    assert of(conditions=f"fp32, 17 MiB; 4 B an element; {circumstances}") == (
        "torch.mm, 8 x 8 x 8",
        "fp32, 17 MiB",
        "4 B an element",
    )


@pytest.mark.parametrize("start", range(len(CARD.split("; "))))
def test_any_circumstance_may_come_first(start):
    """A driver that tells no clock, or a card without ECC, has fewer of them."""
    assert of(conditions="; ".join(CARD.split("; ")[start:])) == ("torch.mm, 8 x 8 x 8",)


@pytest.mark.parametrize(
    ("before", "after", "one"),
    [
        ("torch.mm, 8 x 8 x 8, the best of 4 shapes", "torch.mm, 8 x 8 x 8, the best of 5 shapes", True),
        ("torch.mm, 8 x 8 x 8, the best of a search", "torch.mm, 8 x 8 x 8", True),
        ("torch.mm, 8 x 8 x 8, the best of 4 shapes", "torch.mm, 8 x 8 x 16, the best of 4 shapes", False),
        ("torch.mm, 8 x 8 x 8", "torch.mm, 8 x 8 x 8, b column-major", False),
    ],
)  # fmt: skip
def test_how_many_were_searched_is_no_method(before, after, one):
    assert alike(of(before), of(after)) is one


@pytest.mark.parametrize(
    ("before", "after", "one"),
    [
        ("90 KiB to 1 MiB of a sweep over 8 KiB to 4 GiB", "64 KiB to 1.414 MiB of a sweep over 8 KiB to 4 GiB", True),
        ("5.656 MiB to 22.62 MiB of a sweep over 8 KiB to 4 GiB", "45 MiB to 90 MiB of a sweep over 8 KiB to 4 GiB", False),
        ("90 KiB to 1 MiB of a sweep over 8 KiB to 4 GiB", "90 KiB to 1 MiB of a sweep over 8 KiB to 1 GiB", False),
        ("64 elements, less 2.1 us that a kernel takes to start", "64 elements, less 2.3 us that a kernel takes to start", True),
        ("64 elements, less 4.2 us that 2 kernels take to start", "32 elements, less 4.2 us that 2 kernels take to start", False),
        ("a; b", "a", False),
    ],
)  # fmt: skip
def test_what_a_measurement_found_is_no_method(before, after, one):
    assert alike(of(conditions=before), of(conditions=after)) is one
