// Formats numbers for display.

const NARROW = '\u202f'; // between a number and its unit

/** @param {number} value */
export function count(value) {
  return Math.round(value).toLocaleString('en-US');
}

/**
 * "1 picture", "2,817 pictures".
 * @param {number} value
 * @param {string} singular
 * @param {string} [plural]
 */
export function counted(value, singular, plural = `${singular}s`) {
  return `${count(value)} ${value === 1 ? singular : plural}`;
}

/**
 * @param {number} share  from 0 to 1
 * @param {number} [digits]
 */
export function percent(share, digits = 1) {
  return `${(100 * share).toFixed(digits)}${NARROW}%`;
}

/**
 * About four significant digits, with a real minus sign.
 * @param {number} value
 */
export function decimal(value) {
  if (value === 0) return '0';
  const magnitude = Math.abs(value);
  const text = magnitude >= 1e6 || magnitude < 1e-4 ? value.toExponential(2) : trimmed(value, magnitude);
  return text.replace('-', '−');
}

/**
 * @param {number} value
 * @param {number} magnitude
 */
function trimmed(value, magnitude) {
  if (magnitude >= 1000) return value.toLocaleString('en-US', {maximumFractionDigits: 1});
  return value.toFixed(magnitude >= 100 ? 1 : magnitude >= 10 ? 2 : 3);
}

/**
 * As short as possible, for axis ticks.
 * @param {number} value
 */
export function plainNumber(value) {
  return value.toLocaleString('en-US', {maximumFractionDigits: 6}).replace('-', '−');
}

/** @param {number} difference */
export function signed(difference) {
  if (difference === 0) return '±0';
  return (difference > 0 ? '+' : '−') + count(Math.abs(difference));
}

/**
 * "0.4 s", "4 m 10 s", "1 h 3 m".
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)}${NARROW}s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}${NARROW}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}${NARROW}m ${whole % 60}${NARROW}s`;
  return `${Math.floor(whole / 3600)}${NARROW}h ${Math.floor((whole % 3600) / 60)}${NARROW}m`;
}

/**
 * "a, b and c".
 * @param {string[]} names
 */
export function listed(names) {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]}`;
}

/**
 * "cross_entropy" to "Cross entropy", for names without a title of their own.
 * @param {string} name
 */
export function titled(name) {
  const words = name.replace(/_/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/**
 * The values that are finite numbers.
 * @param {(number | null | undefined)[]} values
 * @returns {number[]}
 */
export function known(values) {
  return /** @type {number[]} */ (values.filter((value) => typeof value === 'number' && Number.isFinite(value)));
}

/** @param {(number | null | undefined)[]} values */
export function anyKnown(values) {
  return known(values).length > 0;
}
