// Legend of the map: the meaning of its colours, and a filter by class.
import {chosen, choose} from './choices.js';
import {scaleColour, seriesColour, seriesShape, styleColour} from './colours.js';
import {drawing, element, searchField} from './dom.js';
import {count, counted, percent} from './format.js';

/** @typedef {import('./schema.js').Run} Run */
/** @typedef {import('./points.js').Points} Points */
/** @typedef {import('./scatter.js').Look} Look */
/** @typedef {'label' | 'truth' | 'confident' | 'agreement'} Colouring */

const DISTINCT = 50; // looks before colours and shapes repeat
const SEARCHED = 15; // more classes than this get a search field

/**
 * Sets the look of every point. Returns the key of the looks; empty if they stand for classes.
 * @param {import('./scatter.js').Scatter} scatter
 * @param {Run} run
 * @param {Points} points
 * @param {number} roundIndex
 * @param {Colouring} colouring
 * @returns {{look: Look, name: string}[]}
 */
export function colourPoints(scatter, run, points, roundIndex, colouring) {
  const {confident, agreement} = points.at(roundIndex);
  scatter.paper = styleColour('panel');
  scatter.faint = styleColour('faint');
  if (colouring === 'label' || colouring === 'truth') {
    const unknown = run.classes.length;
    const classes = classesOf(points, roundIndex, colouring);
    scatter.looks = [
      ...run.classes.map((_, index) => ({colour: seriesColour(index), shape: seriesShape(index)})),
      {colour: styleColour('soft'), shape: 'ring'},
    ];
    for (let point = 0; point < points.size; ++point) {
      const index = classes[point];
      scatter.look[point] = index >= 0 && index < unknown ? index : unknown;
    }
    return [];
  }
  /** @type {{look: Look, name: string}[]} */
  let key;
  if (colouring === 'confident') {
    key = [
      {look: {colour: seriesColour(0), shape: 'disc'}, name: 'confident'},
      {look: {colour: seriesColour(1), shape: 'triangle'}, name: 'not confident'},
    ];
    for (let point = 0; point < points.size; ++point) scatter.look[point] = confident[point] ? 0 : 1;
  } else {
    const sources = Math.max(1, run.sources.length);
    const levels = Math.min(sources, 8);
    key = Array.from({length: levels + 1}, (_, level) => ({
      look: {colour: scaleColour(level / levels), shape: /** @type {const} */ ('disc')},
      name: levels === sources ? agreeing(level, sources) : percent(level / levels, 0),
    }));
    for (let point = 0; point < points.size; ++point)
      scatter.look[point] = Math.max(0, Math.min(levels, Math.round(agreement[point] * levels)));
  }
  scatter.looks = key.map(({look}) => look);
  return key;
}

/**
 * The classes by which points are filtered and coloured.
 * @param {Points} points
 * @param {number} roundIndex
 * @param {Colouring} colouring
 */
function classesOf(points, roundIndex, colouring) {
  return colouring === 'truth' && points.truth ? points.truth : points.at(roundIndex).label;
}

/**
 * @param {number} agree
 * @param {number} sources
 */
export function agreeing(agree, sources) {
  if (agree >= sources) return sources === 1 ? 'the source agrees' : `all ${count(sources)} agree`;
  return agree <= 0 ? 'none agrees' : `${count(agree)} of ${count(sources)} agree`;
}

export class Legend {
  /**
   * @param {Run} run
   * @param {() => void} onfilter
   */
  constructor(run, onfilter) {
    this.run = run;
    this.only = new Set(
      chosen('map-classes', /** @type {number[]} */ ([])).filter((index) => index < run.classes.length),
    );
    this.onfilter = () => {
      choose('map-classes', [...this.only]);
      onfilter();
    };
    this.key = element('ul', {class: 'map-key'});
    this.shown = element('p', {class: 'shown', role: 'status'});
    this.all = element('button', {type: 'button', class: 'quiet'}, 'Show all');
    this.all.addEventListener('click', () => {
      this.only.clear();
      this.onfilter();
    });
    this.buttons = run.classes.map((name, index) => this.classButton(name, index));
    this.body = element('div', {class: 'map-side'}, this.key, this.classList());
  }

  /**
   * @param {string} name
   * @param {number} index
   */
  classButton(name, index) {
    const swatch = element('span', {class: 'swatch'});
    const number = element('span', {class: 'number'});
    const button = element(
      'button',
      {type: 'button', 'aria-pressed': 'false', title: name},
      swatch,
      element('span', {class: 'name'}, name),
      number,
    );
    button.addEventListener('click', () => {
      if (!this.only.delete(index)) this.only.add(index);
      this.onfilter();
    });
    return {button, swatch, number, text: name.toLowerCase()};
  }

  classList() {
    const {classes} = this.run;
    const find = (/** @type {string} */ word) => {
      for (const {button, text} of this.buttons) button.hidden = !text.includes(word.trim().toLowerCase());
      choose('map-word', word);
    };
    const many = classes.length > SEARCHED;
    const word = many ? chosen('map-word', '') : '';
    if (word) find(word);
    return element(
      'div',
      {class: 'map-filter'},
      element('div', {class: 'map-filter-head'}, element('h3', {}, 'Classes'), this.all),
      element('p', {class: 'small'}, 'Select classes to show only these.'),
      classes.length > DISTINCT &&
        element(
          'p',
          {class: 'small'},
          `With ${count(classes.length)} classes, colours and shapes repeat; select a class to see it alone.`,
        ),
      many && searchField({id: 'map-word', label: 'Find a class', value: word, oninput: find}),
      element(
        'div',
        {class: 'map-classes', role: 'group', 'aria-label': 'Classes to show'},
        ...this.buttons.map(({button}) => button),
      ),
      this.shown,
    );
  }

  /**
   * Shows the key of the looks.
   * @param {import('./scatter.js').Scatter} scatter
   * @param {{look: Look, name: string}[]} key  as returned by colourPoints
   */
  explain(scatter, key) {
    const tally = new Uint32Array(scatter.looks.length);
    for (const look of scatter.look) ++tally[look];
    this.key.replaceChildren(
      ...key.map(({look, name}, index) =>
        element(
          'li',
          {},
          swatchOf(look),
          element('span', {class: 'name'}, name),
          element('span', {class: 'number'}, count(tally[index])),
        ),
      ),
    );
    const byClass = key.length === 0;
    this.key.hidden = byClass;
    this.buttons.forEach(({swatch}, index) => {
      swatch.hidden = !byClass;
      if (byClass) swatch.replaceChildren(swatchOf(scatter.looks[index]));
    });
  }

  /**
   * Fades the points of classes that are not selected, and updates the counts.
   * @param {import('./scatter.js').Scatter} scatter
   * @param {Points} points
   * @param {number} roundIndex
   * @param {Colouring} colouring
   */
  filter(scatter, points, roundIndex, colouring) {
    const classes = classesOf(points, roundIndex, colouring);
    const tally = new Uint32Array(this.buttons.length);
    let shown = 0;
    for (let point = 0; point < points.size; ++point) {
      const index = classes[point];
      if (index >= 0 && index < tally.length) ++tally[index];
      const faded = this.only.size > 0 && !this.only.has(index);
      scatter.faded[point] = Number(faded);
      shown += Number(!faded);
    }
    this.buttons.forEach(({button, number}, index) => {
      number.textContent = count(tally[index]);
      button.setAttribute('aria-pressed', String(this.only.has(index)));
    });
    this.all.disabled = this.only.size === 0;
    this.shown.textContent = this.only.size > 0 ? `${count(shown)} of ${counted(points.size, 'point')}` : '';
  }
}

/** @param {Look} look */
function swatchOf({colour, shape}) {
  const marks = {
    disc: drawing('circle', {cx: 6, cy: 6, r: 5, fill: colour}),
    square: drawing('rect', {x: 1.5, y: 1.5, width: 9, height: 9, fill: colour}),
    triangle: drawing('path', {d: 'M6 0.5 L11.5 10.5 H0.5 Z', fill: colour}),
    diamond: drawing('path', {d: 'M6 0 L12 6 L6 12 L0 6 Z', fill: colour}),
    ring: drawing('circle', {cx: 6, cy: 6, r: 4, fill: 'none', stroke: colour, 'stroke-width': 2.5}),
  };
  return drawing('svg', {width: 12, height: 12, viewBox: '0 0 12 12', 'aria-hidden': 'true'}, marks[shape]);
}
