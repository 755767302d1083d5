// Colours of classes, sources and scales, in the light and dark theme.
//
// The ten colours are distinct under the three kinds of colour blindness and have a contrast of 3:1 with the page
// (tests/web checks both). Beyond ten, colours repeat with another shape or dash, so that fifty classes are distinct.
// Colour is never the only cue.

const LIGHT = [
  '#2e79d1',
  '#d37e53',
  '#2e7d6b',
  '#a73834',
  '#6f3f8f',
  '#5399c6',
  '#603705',
  '#947611',
  '#29312b',
  '#c35894',
];
const DARK = [
  '#648eed',
  '#f5a839',
  '#65d695',
  '#c6687f',
  '#8761ab',
  '#acd1e9',
  '#8f5a4b',
  '#f3df5c',
  '#f6eff5',
  '#cb98c4',
];

export const SERIES_COLOURS = {light: LIGHT, dark: DARK};
export const SHAPES = /** @type {const} */ (['disc', 'square', 'triangle', 'diamond', 'ring']);

const DASHES = [[], [6, 3], [2, 3], [9, 3, 2, 3]];

/** @typedef {typeof SHAPES[number]} Shape */

/** @type {(() => void)[]} */
const repaints = [];

const printing = matchMedia('print');
const prefersDark = matchMedia('(prefers-color-scheme: dark)');
let asked = '';

/**
 * The reader's choice, else the system's; always light in print.
 * @returns {'light' | 'dark'}
 */
export function theme() {
  if (printing.matches) return 'light';
  if (asked === 'light' || asked === 'dark') return asked;
  return prefersDark.matches ? 'dark' : 'light';
}

/** @param {string} wanted  light, dark, or empty for the system's choice */
export function askTheme(wanted) {
  asked = wanted;
  coloursChanged();
}

/**
 * Calls `repaint` whenever colours change.
 * @param {() => void} repaint
 */
export function onColours(repaint) {
  repaints.push(repaint);
}

export function coloursChanged() {
  document.documentElement.dataset.theme = theme();
  for (const repaint of repaints) repaint();
}

printing.addEventListener('change', coloursChanged);
prefersDark.addEventListener('change', coloursChanged);

/** @param {number} index */
export function seriesColour(index) {
  const colours = SERIES_COLOURS[theme()];
  return colours[index % colours.length];
}

/**
 * @param {number} index
 * @returns {Shape}
 */
export function seriesShape(index) {
  return SHAPES[Math.floor(index / LIGHT.length) % SHAPES.length];
}

/** @param {number} index */
export function seriesDash(index) {
  return DASHES[Math.floor(index / LIGHT.length) % DASHES.length];
}

/**
 * A colour of the style sheet.
 * @param {string} name  name of the custom property, without --
 */
export function styleColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/**
 * "#rrggbb" as three numbers from 0 to 255.
 * @param {string} hex
 * @returns {[number, number, number]}
 */
export function rgb(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [(number >> 16) & 255, (number >> 8) & 255, number & 255];
}

/**
 * Interpolates between two colours; `part` is from 0 to 1.
 * @param {string} from  "#rrggbb"
 * @param {string} to
 * @param {number} part
 */
export function between(from, to, part) {
  const [start, end] = [rgb(from), rgb(to)];
  const mixed = start.map((value, i) => Math.round(value + (end[i] - value) * part));
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

/**
 * Diverging scale from 0 to 1: two hues that are distinct under colour blindness, with grey between them.
 * @param {number} part
 */
export function scaleColour(part) {
  const [low, middle, high] = [styleColour('scale-low'), styleColour('scale-middle'), styleColour('scale-high')];
  return part < 0.5 ? between(low, middle, 2 * part) : between(middle, high, 2 * part - 1);
}
