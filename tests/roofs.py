"""Devices with round numbers, for tests of the model."""

from datetime import date

from roofline.device import DRAM, RESOURCES, Ceiling, Roof
from roofline.provenance import Basis, Provenance

STATED = Provenance(basis=Basis.STATED, source="round numbers for tests", as_of=date(2026, 1, 1))


def roof(**rates: float) -> Roof:
    """A roof from resource names, underscores for dashes: ``roof(dram=2e12, tensor_fp16=1.2e14)``."""
    return Roof(
        name="toy",
        kind="gpu",
        ceilings=tuple(
            Ceiling(resource=RESOURCES[name.replace("_", "-")], rate=rate, provenance=STATED)
            for name, rate in rates.items()
        ),
    )


# The device of the worked examples: 120 TFLOP/s, 2 TB/s.
HYPOTHETICAL = roof(dram=2e12, tensor_fp16=120e12, vector_fp32=120e12)
DRAM_2TB = HYPOTHETICAL.ceiling(DRAM)
