"""What ran beside what on a device, and the path that a step's length is made of."""

from typing import Any

from roofline.program import Program
from roofline.units import show, show_share

Document = dict[str, Any]


def of_program(program: Program) -> Document:
    """Of one step; null where nothing ran on a device."""
    overlap, path, n = program.overlap, program.path, program.conditions.steps
    return {
        "overlap": None
        if overlap is None
        else {
            "streams": overlap.streams,
            "beside_s": overlap.beside_s / n,
            "communication_s": overlap.communication_s / n,
            "exposed_s": overlap.exposed_s / n,
        },
        "critical_path": None
        if path is None
        else {
            "kernels_s": path.kernels_s / n,
            "communication_s": path.communication_s / n,
            "copies_s": path.copies_s / n,
            "others_s": path.others_s / n,
            "waiting_s": path.waiting_s / n,
            "beside_s": path.beside_s / n,
            "longest": [{"name": name, "seconds": s / n} for name, s in path.longest[:8]],
        },
    }


def words(whole: Document | None) -> str:
    """The path in one line; "" where all ran one after the other and nothing communicated."""
    path = (whole or {}).get("critical_path")
    if not path or not (path["beside_s"] or path["communication_s"]):
        return ""
    parts = (
        ("kernels", path["kernels_s"]), ("communication", path["communication_s"]),
        ("copies", path["copies_s"]), ("work of no step", path.get("others_s") or 0.0),
        ("waiting for the host", path["waiting_s"]),
    )  # fmt: skip
    length = sum(seconds for _, seconds in parts)
    named = [f"{name} {show(s, 's')} ({show_share(s / length)})" for name, s in parts if s > 0]
    beside = path["beside_s"]
    more = f"; another {show(beside, 's')} ran beside it" if beside > 0 else ""
    return f"critical path of a step: {', '.join(named)}{more}"
