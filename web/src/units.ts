// Base units to text, by the same rule as roofline/units.py: three significant digits and a
// decimal prefix.  Python rounds ties to even and JavaScript rounds them up, so ties are met here.

const DECIMAL: [string, number][] = [
  ["E", 1e18], ["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3],
  ["", 1], ["m", 1e-3], ["u", 1e-6], ["n", 1e-9],
];
const BINARY: [string, number][] = [["Ti", 2 ** 40], ["Gi", 2 ** 30], ["Mi", 2 ** 20], ["Ki", 2 ** 10]];

/** Nothing is known: a dash where a number would stand. */
export const UNKNOWN = "–";

/** `value` in base units of `unit`: show(4.8e12, "B/s") is "4.80 TB/s". */
export function show(value: number, unit: string): string {
  if (value === 0) return `0 ${unit}`;
  const rounded = Number(exponential(value, 2));
  if (unit === "flop/B") return `${general(rounded, rounded < 1e6 ? 4 : 3)} ${unit}`;
  const [prefix, scale] = prefixOf(Math.abs(rounded), unit);
  const scaled = rounded / scale;
  const size = Math.abs(scaled);
  if (size < (unit === "s" ? 0.01 : 1)) return `${general(rounded, 3)} ${unit}`;
  return `${fixed(scaled, size < 9.995 ? 2 : size < 99.95 ? 1 : 0)} ${prefix}${unit}`;
}

/** The same, or a dash for unknown. */
export const maybe = (value: number | null | undefined, unit: string): string =>
  value === null || value === undefined ? UNKNOWN : show(value, unit);

/** A capacity the way caches are sold: "48 KiB". */
export function showBinary(value: number): string {
  const found = BINARY.find(([, scale]) => value >= scale);
  return found ? `${general(value / found[1], 4)} ${found[0]}B` : `${fixed(value, 0)} B`;
}

/** A share of one: "83 %", "3.1 %" below ten, and no zero where something is. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined) return UNKNOWN;
  const value = share * 100;
  if (value > 0 && value < 0.05) return "< 0.1 %";
  return `${fixed(value, value !== 0 && Math.abs(value) < 9.95 ? 1 : 0)} %`;
}

/** A power of ten for an axis: tick(1e11) is "100 G". */
export function tick(value: number): string {
  const [prefix, scale] = prefixOf(value, "");
  return `${general(value / scale, 3)} ${prefix}`.trim();
}

/** Calls a step: a mean over steps can be a fraction. */
export const calls = (value: number): string => (Number.isInteger(value) ? grouped(value) : general(value, 3));

/** Digits in groups of three: "16,777,216". */
export const grouped = (value: number): string => value.toLocaleString("en-US");

// Thousandths are of seconds alone: nobody means a thousandth of a byte.
function prefixOf(size: number, unit: string): [string, number] {
  const allowed = DECIMAL.filter(([, scale]) => unit === "s" || scale >= 1);
  return allowed.find(([, scale]) => size >= 0.999999 * scale) ?? allowed[allowed.length - 1]!;
}

function fixed(value: number, digits: number): string {
  return halfToEven(value.toFixed(digits), value.toFixed(100), digits);
}

function exponential(value: number, digits: number): string {
  const [exact, exponent] = value.toExponential(100).split("e") as [string, string];
  const [up, risen] = value.toExponential(digits).split("e") as [string, string];
  const rounded = halfToEven(up, exact, digits);
  return `${rounded}e${rounded === up ? risen : exponent}`;
}

// `up` is right but for an exact half, one 5 and nothing behind it, after an even digit.
function halfToEven(up: string, exact: string, digits: number): string {
  const [whole, decimals] = exact.split(".") as [string, string];
  if (!/^50*$/.test(decimals.slice(digits))) return up;
  const down = digits ? `${whole}.${decimals.slice(0, digits)}` : whole;
  return Number(down[down.length - 1]) % 2 === 0 ? down : up;
}

// C's %g: at most `digits` significant, no trailing zeros, an exponent outside 1e-4 to 10^digits.
function general(value: number, digits: number): string {
  const [mantissa, power] = exponential(value, digits - 1).split("e") as [string, string];
  const exponent = Number(power);
  if (exponent >= -4 && exponent < digits) return strip(fixed(value, digits - 1 - exponent));
  const size = String(Math.abs(exponent)).padStart(2, "0");
  return `${strip(mantissa)}e${exponent < 0 ? "-" : "+"}${size}`;
}

const strip = (text: string): string => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
