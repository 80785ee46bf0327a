"""Repeated timing that knows when it was disturbed."""

from dataclasses import dataclass

from roofline.provenance import spread

CLEAN = 0.97  # CPU time over wall time below which something else ran in between
TRUSTED = 0.10  # least share of clean samples that a ceiling may rest on
FEWEST = 3  # clean samples; fewer have no middle


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed stretch of work."""

    rate: float  # units of work a second of wall time
    busy: float  # CPU time over wall time, of the worst thread

    @property
    def clean(self) -> bool:
        """Whether the CPU did nothing else meanwhile."""
        return self.busy >= CLEAN


@dataclass(frozen=True, slots=True)
class Samples:
    """All samples of one quantity; only the clean ones count."""

    all: tuple[Sample, ...] = ()

    @property
    def rates(self) -> tuple[float, ...]:
        """Rates of the clean samples."""
        return tuple(s.rate for s in self.all if s.clean)

    @property
    def clean_share(self) -> float | None:
        """Clean samples over all; None when there are none."""
        return len(self.rates) / len(self.all) if self.all else None

    @property
    def trusted(self) -> bool:
        """Whether enough of them are clean to stand for the machine."""
        return len(self.rates) >= max(FEWEST, TRUSTED * len(self.all))

    @property
    def level(self) -> float | None:
        """Upper quartile of the clean rates, to compare sizes and ways by; None without any.

        What slows memory down from outside (another core, another machine on the same host)
        leaves no trace in CPU time.  It hits some sizes more than others; the quartile less so
        than the median.
        """
        return spread(self.rates).q3 if self.rates else None
