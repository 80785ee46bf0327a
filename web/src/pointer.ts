// When a page scrolls under a pointer at rest, browsers report a move.  It is none: what the keyboard
// points at stays.

let [now, before] = [{ x: -1, y: -1 }, { x: -1, y: -1 }];

document.addEventListener(
  "pointermove",
  (event) => {
    [before, now] = [now, { x: event.clientX, y: event.clientY }];
  },
  { capture: true },
);

/** Whether the pointer stands where it stood. */
export const atRest = (event: PointerEvent): boolean =>
  event.type === "pointermove" ? before.x === now.x && before.y === now.y : event.clientX === now.x && event.clientY === now.y;
