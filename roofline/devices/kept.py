"""Measured ceilings, kept under the user's home: every measurement stays, the newest counts."""

import os
import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from roofline.device import RESOURCES, Device
from roofline.errors import BadInput, RooflineError
from roofline.whole import whole

SCHEMA: Final = "roofline.device/1"

PARTIAL = "partial:"  # how the note of an interrupted measurement begins
_STAMP = "%Y%m%dT%H%M%S.%fZ"
_ID = re.compile(r"[a-z0-9][a-z0-9._+-]*")


class _Kept(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    schema: Literal["roofline.device/1"]
    device: Device


def home() -> Path:
    """Where roofline keeps what it measured: $ROOFLINE_HOME, else the user's data folder."""
    if stated := os.environ.get("ROOFLINE_HOME"):
        return Path(stated)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "roofline"


def ready() -> None:
    """Refuse, before a minute of measuring, a place where nothing could be kept afterwards."""
    folder = home() / "ceilings"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        raise BadInput(f"cannot keep ceilings in {folder}: {error.strerror or error}") from None


def keep(device: Device) -> Path:
    """Write `device` with its ceilings as a new file, whole or not at all, and return its path.

    A full disk or a folder that cannot be written raises BadInput; earlier files stay as they are.
    """
    folder = _folder(device.id)
    text = msgspec.json.format(msgspec.json.encode(_Kept(schema=SCHEMA, device=device)), indent=1)
    path = folder / f"{datetime.now(UTC):{_STAMP}}.json"
    cannot = f"cannot keep the ceilings of {device.id} in {folder}"
    with whole(path, make_folder=True, cannot=cannot) as temporary, temporary.open("wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return path


def history(device_id: str) -> list[Path]:
    """The files kept for one device, oldest first; their names are the times (UTC)."""
    return sorted(_folder(device_id).glob("*.json"))


def taken_at(path: Path) -> datetime:
    """When a kept file was written (UTC), from its name."""
    try:
        return datetime.strptime(path.stem, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        raise BadInput(f"the kept ceilings {path} are not named after a time") from None


def newest(device_id: str) -> Device | None:
    """The newest measurement kept for one device, or None; a file that cannot be read is named.

    One that was interrupted counts only where there is no whole one.
    """
    return next((device for _, device in counting(device_id)), None)


def counting(device_id: str) -> Iterator[tuple[Path, Device]]:
    """The measurements of one device that count, newest first, read one at a time.

    Those that were interrupted count only where there is no whole one.
    """
    partial, any_whole = [], False
    for path in reversed(history(device_id)):
        device = read(path)
        if device.note.startswith(PARTIAL):
            partial.append((path, device))
        else:
            any_whole = True
            yield path, device
    if not any_whole:
        yield from partial


def kept_ids() -> tuple[str, ...]:
    """The ids of all devices with a measurement, in order."""
    return tuple(sorted({path.parent.name for path in (home() / "ceilings").glob("*/*.json")}))


def read(path: Path) -> Device:
    """Read one kept file; a damaged one, or one of a newer version, raises BadInput."""
    try:
        device = _decoded(path)
        if device.id != path.parent.name:
            raise BadInput(f"it holds {device.id}")
    except (OSError, msgspec.DecodeError, RooflineError) as error:
        raise BadInput(
            f"the kept ceilings {path} cannot be used: {error}; "
            "move the file away to use an earlier one"
        ) from None
    return device


def read_file(path: Path) -> Device:
    """Read a measurement from any file, such as ``roofline measure -o`` writes."""
    try:
        return _decoded(path)
    except (OSError, msgspec.DecodeError, RooflineError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{path} is no measurement that can be read: {reason}") from None


def _decoded(path: Path) -> Device:
    content = path.read_bytes()
    schema = msgspec.json.decode(content, type=dict[str, Any]).get("schema")
    if schema != SCHEMA:
        raise BadInput(f"it is written as {schema}, this version reads {SCHEMA}")
    device = msgspec.json.decode(content, type=_Kept).device
    if strange := [c.resource.name for c in device.ceilings if not _in_table(c.resource)]:
        raise BadInput(f"it has ceilings on unknown resources: {', '.join(strange)}")
    return device


def _folder(device_id: str) -> Path:
    if not _ID.fullmatch(device_id):
        raise BadInput(f"a device id is lower-case letters, digits and dashes; got {device_id!r}")
    return home() / "ceilings" / device_id


def _in_table(resource: object) -> bool:
    return resource in RESOURCES.values()
