"""One operator in a few plain lines: what it needs, what serves it, how far from its roof."""

from typing import Any

from roofline.placement import ABOVE
from roofline.report.text import fraction, seconds
from roofline.units import show

Document = dict[str, Any]


def words(document: Document) -> str:
    """One operator that was accounted for and placed, in a few plain lines."""
    (item,) = document["items"]
    lines = [f"{item['name']} {_under(document['device'])}"]
    lines += [
        f"  {entry['resource']:<18}{show(entry['amount'], entry['unit']):>12}  {entry['why']}"
        for entry in item["ledger"]
    ]
    lines += [f"  unaccounted: {name}" for name in item["unaccounted"]]
    for bound in item["bounds"]:
        marker = ">" if bound["resource"] == item["binding"] else " "
        unit = next(e["unit"] for e in item["ledger"] if e["resource"] == bound["resource"])
        lines.append(
            f"{marker} {bound['resource']:<18}{show(bound['amount'], unit):>12} at "
            f"{show(bound['rate'], unit + '/s'):>13} = {show(bound['least_s'], 's'):>8}  "
            f"{bound['basis']}{', ' + bound['variant'] if bound['variant'] else ''}{_served(bound)}"
        )
    lines += [f"  {name}: no ceiling known, not bounded" for name in item["no_ceiling"]]
    lines += _executed(item)
    lines += _intensity(item)
    lines.append(
        f"  roof time {seconds(item['roof_s'])}, without overlap {seconds(item['serial_s'])}"
    )
    if item["measured_s"] is not None:
        lines.append(f"  measured {seconds(item['measured_s'])}: {_reached(item)}")
    lines += [f"  convention: {text}" for text in item["conventions"]]
    for finding in document["findings"]:
        lines.append(f"{finding['code']} {finding['claim']}")
        lines += [f"      {text}" for text in finding["evidence"]]
        lines.append(f"      next: {finding['next_step']}")
        lines.append(f"      wrong if: {finding['wrong_if']}")
    return "\n".join(lines)


def _under(device: Document) -> str:
    """The roof it is placed under: a device's, or the rates that were stated."""
    if device["id"] is None:
        return f"under the rates {device['name']}"
    return f"on {device['name']} ({device['basis']} ceilings)"


def _served(bound: Document) -> str:
    """That another pipe does the work, and why."""
    if bound["served_by"] == bound["resource"]:
        return ""
    return f", on {bound['served_by']}: {bound['served_why']}"


def _executed(item: Document) -> list[str]:
    """What is known to run or move beyond the formula: the sum, and the lines that are new."""
    asked = [(e["resource"], e["why"]) for e in item["ledger"]]
    lines = []
    for name in dict.fromkeys(e["resource"] for e in item["executed_ledger"]):
        ran = [e for e in item["executed_ledger"] if e["resource"] == name]
        whole = sum(e["amount"] for e in ran)
        before = sum(e["amount"] for e in item["ledger"] if e["resource"] == name)
        if whole == before:
            continue
        new = [e for e in ran if (name, e["why"]) not in asked]
        beyond = ", ".join(
            e["why"] if len(ran) == 1 else f"{show(e['amount'], e['unit'])} {e['why']}" for e in new
        )
        times = f", {whole / before:.3g} x the formula" if before else ""
        lines.append(f"  {name:<18}{show(whole, ran[0]['unit']):>12}  executed{times}: {beyond}")
    return lines


def _reached(item: Document) -> str:
    """The share of the roof, or that there is none to have a share of."""
    value = item["roof_fraction"]
    above = value is not None and value > ABOVE
    return "faster than its roof allows, see below" if above else f"{fraction(item)} of the roof"


def _intensity(item: Document) -> list[str]:
    if not item["flop"] and any(entry["unit"] == "op" for entry in item["ledger"]):
        return []  # integer operations are no flop: 0 flop/B would say that nothing is done
    return [
        f"  intensity {show(value, 'flop/B')} at {boundary}"
        + (
            f", ridge point {show(ridge, 'flop/B')}"
            if (ridge := item["ridge_point"].get(boundary))
            else ""
        )
        for boundary, value in item["intensity"].items()
    ]
