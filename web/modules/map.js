// The map of the pictures (t-SNE) through the rounds: what colours mean, which classes to see, and who a point is.
import {chosen, choose} from './choices.js';
import {onColours, scaleColour, seriesColour, seriesShape, styleColour} from './colours.js';
import {arrayOf} from './decode.js';
import {absent, drawing, element, searchField, section, segments} from './dom.js';
import {count, counted, percent} from './format.js';
import {thumbnail} from './gallery.js';
import {Scatter} from './scatter.js';

/** @typedef {import('./schema.js').Run} Run */
/** @typedef {import('./schema.js').Embedding} Embedding */
/** @typedef {import('./schema.js').Picture} Picture */
/** @typedef {import('./scatter.js').Look} Look */
/** @typedef {'label' | 'truth' | 'confident' | 'agreement'} Colouring */
/** @typedef {{xy: Float32Array, label: Int16Array, confident: Uint8Array, agreement: Float32Array}} MapRound */

const MOVE = 650; // milliseconds from one round to the next
const REST = 450; // and between two moves while playing
const REACH = 14; // pixels within which a pointer finds a point
const DISTINCT = 50; // looks before colours and shapes come again

/** @param {Run} run */
export function mapSection(run) {
  const {embedding} = run;
  if (!embedding || embedding.rounds.length === 0) {
    return section(
      'map',
      'Map of the pictures',
      null,
      absent('No map of the pictures (t-SNE) was computed for this run.'),
    );
  }
  const view = new MapView(run, embedding);
  const sample =
    embedding.sampled < embedding.of
      ? ` It shows a sample: ${count(embedding.sampled)} of the ${counted(embedding.of, 'picture')}.`
      : '';
  return section(
    'map',
    'Map of the pictures',
    'Pictures with similar features lie near each other (t-SNE). Only nearness means something: the axes and the ' +
      `gaps between groups have no unit.${sample}`,
    view.controls,
    view.body,
  );
}

class MapView {
  /**
   * @param {Run} run
   * @param {Embedding} embedding
   */
  constructor(run, embedding) {
    this.run = run;
    this.embedding = embedding;
    this.size = embedding.sampled;
    this.pictures = arrayOf(Uint32Array, embedding.pictures, this.size);
    this.truth = embedding.truth ? arrayOf(Int16Array, embedding.truth, this.size) : null;
    /** @type {(MapRound | undefined)[]} */
    this.decoded = [];
    this.known = knownPictures(run);
    this.last = embedding.rounds.length - 1;
    const round = chosen('map-round', -1);
    this.round = round < 0 || round > this.last ? this.last : round;
    this.colouring = /** @type {Colouring} */ (chosen('map-colour', 'label'));
    if (this.colouring === 'truth' && !this.truth) this.colouring = 'label';
    this.only = new Set(
      chosen('map-classes', /** @type {number[]} */ ([])).filter((index) => index < run.classes.length),
    );
    this.pointed = -1;
    this.pinned = false;
    this.playing = 0;
    this.frame = 0;

    const canvas = element('canvas', {
      class: 'map-canvas',
      id: 'map-canvas',
      tabindex: 0,
      role: 'application',
      'aria-label':
        `Map of ${counted(this.size, 'picture')}. The arrow keys go from point to point, plus and minus zoom, ` +
        '0 shows all, Escape lets go.',
    });
    this.scatter = new Scatter(canvas, this.size, this.boundsOfAll());
    this.scatter.xy.set(this.at(this.round).xy);
    this.ring = element('span', {class: 'map-ring', hidden: true});
    this.tip = element('div', {class: 'map-tip', role: 'status', hidden: true});
    this.plot = element('div', {class: 'map-plot'}, canvas, this.ring, this.tip, this.zoomButtons());
    this.key = element('ul', {class: 'map-key'});
    this.classList = element('div', {class: 'map-classes', role: 'group', 'aria-label': 'Classes to show'});
    this.slider = element('input', {
      type: 'range',
      autocomplete: 'off',
      id: 'map-round',
      min: 0,
      max: this.last,
      step: 1,
      oninput: () => {
        this.stop();
        this.go(Number(this.slider.value));
      },
    });
    this.roundText = element('output', {for: 'map-round'});
    this.play = element(
      'button',
      {type: 'button', class: 'play', onclick: () => (this.playing ? this.stop() : this.start())},
      'Play',
    );
    this.all = element(
      'button',
      {
        type: 'button',
        class: 'quiet',
        onclick: () => {
          this.only.clear();
          this.filtered();
        },
      },
      'Show all',
    );
    this.shown = element('p', {class: 'shown', role: 'status'});
    this.controls = element('div', {class: 'controls'}, this.colourChoice(), this.last > 0 ? this.roundChoice() : null);
    this.body = element(
      'div',
      {class: 'map'},
      this.plot,
      element('div', {class: 'map-side'}, this.key, this.classChoice()),
    );
    this.listen(canvas);
    this.recolour();
    this.sayRound();
    onColours(() => this.recolour());
    new ResizeObserver(() => this.redraw()).observe(this.plot);
  }

  /**
   * A round's arrays; decoded when they are first wanted.
   * @param {number} index
   */
  at(index) {
    const made = this.decoded[index];
    if (made) return made;
    const {xy, label, confident, agreement} = this.embedding.rounds[index];
    const round = {
      xy: arrayOf(Float32Array, xy, 2 * this.size),
      label: arrayOf(Int16Array, label, this.size),
      confident: arrayOf(Uint8Array, confident, this.size),
      agreement: arrayOf(Float32Array, agreement, this.size),
    };
    this.decoded[index] = round;
    return round;
  }

  /**
   * One frame for all rounds, so that what moves on the screen has moved in the map.
   * @returns {[number, number, number, number]}
   */
  boundsOfAll() {
    /** @type {[number, number, number, number]} */
    const bounds = [Infinity, Infinity, -Infinity, -Infinity];
    for (let round = 0; round <= this.last; ++round) {
      const {xy} = this.at(round);
      for (let i = 0; i < xy.length; i += 2) {
        if (xy[i] < bounds[0]) bounds[0] = xy[i];
        if (xy[i] > bounds[2]) bounds[2] = xy[i];
        if (xy[i + 1] < bounds[1]) bounds[1] = xy[i + 1];
        if (xy[i + 1] > bounds[3]) bounds[3] = xy[i + 1];
      }
    }
    return bounds;
  }

  colourChoice() {
    /** @type {[Colouring, string][]} */
    const options = [['label', 'Pseudo-label']];
    if (this.truth) options.push(['truth', 'Truth']);
    options.push(['confident', 'Confident'], ['agreement', 'Agreement']);
    return segments({
      name: 'map-colour',
      label: 'Colour by',
      options,
      value: this.colouring,
      onchange: (value) => {
        this.colouring = value;
        choose('map-colour', value);
        this.recolour();
      },
    });
  }

  roundChoice() {
    return element(
      'div',
      {class: 'rounds'},
      element('label', {for: 'map-round'}, 'Round'),
      this.play,
      this.slider,
      this.roundText,
    );
  }

  classChoice() {
    const {classes} = this.run;
    const many = classes.length > 15;
    this.buttons = classes.map((name, index) => {
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
        this.filtered();
      });
      this.classList.append(button);
      return {button, swatch, number, text: name.toLowerCase()};
    });
    const find = (/** @type {string} */ word) => {
      for (const {button, text} of this.buttons ?? []) button.hidden = !text.includes(word.trim().toLowerCase());
      choose('map-word', word);
    };
    const word = many ? chosen('map-word', '') : '';
    if (word) find(word);
    const search = many && searchField({id: 'map-word', label: 'Find a class', value: word, oninput: find});
    const repeat =
      classes.length > DISTINCT &&
      element(
        'p',
        {class: 'small'},
        `With ${count(classes.length)} classes colours and shapes come again; choose a class to see it alone.`,
      );
    return element(
      'div',
      {class: 'map-filter'},
      element('div', {class: 'map-filter-head'}, element('h3', {}, 'Classes'), this.all),
      element('p', {class: 'small'}, 'Choose some to see only them.'),
      repeat,
      search,
      this.classList,
      this.shown,
    );
  }

  zoomButtons() {
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ act) =>
      element(
        'button',
        {
          type: 'button',
          'aria-label': label,
          title: label,
          onclick: () => {
            act();
            this.redraw();
          },
        },
        text,
      );
    return element(
      'div',
      {class: 'map-zoom'},
      button('+', 'Zoom in', () => this.scatter.zoomBy(1.6)),
      button('−', 'Zoom out', () => this.scatter.zoomBy(1 / 1.6)),
      button('⤢', 'Show all points', () => this.scatter.zoomBy(0)),
    );
  }

  /**
   * The class that the filter and the legend go by.
   * @param {number} point
   */
  classOf(point) {
    return this.colouring === 'truth' && this.truth ? this.truth[point] : this.at(this.round).label[point];
  }

  recolour() {
    const {scatter} = this;
    const byClass = this.colouring === 'label' || this.colouring === 'truth';
    const {confident, agreement} = this.at(this.round);
    const sources = Math.max(1, this.run.sources.length);
    /** @type {{look: Look, name: string}[]} */
    let key = [];
    scatter.paper = styleColour('panel');
    scatter.faint = styleColour('faint');
    if (byClass) {
      scatter.looks = [
        ...this.run.classes.map((_, index) => classLook(index)),
        {colour: styleColour('soft'), shape: 'ring'},
      ];
      const unknown = scatter.looks.length - 1;
      for (let point = 0; point < this.size; ++point) {
        const index = this.classOf(point);
        scatter.look[point] = index >= 0 && index < unknown ? index : unknown;
      }
    } else if (this.colouring === 'confident') {
      key = [
        {look: {colour: seriesColour(0), shape: 'disc'}, name: 'confident'},
        {look: {colour: seriesColour(1), shape: 'triangle'}, name: 'not confident'},
      ];
      for (let point = 0; point < this.size; ++point) scatter.look[point] = confident[point] ? 0 : 1;
    } else {
      const levels = Math.min(sources, 8);
      key = Array.from({length: levels + 1}, (_, level) => ({
        look: {colour: scaleColour(level / levels), shape: /** @type {const} */ ('disc')},
        name: levels === sources ? agreeing(level, sources) : percent(level / levels, 0),
      }));
      for (let point = 0; point < this.size; ++point)
        scatter.look[point] = Math.max(0, Math.min(levels, Math.round(agreement[point] * levels)));
    }
    if (!byClass) scatter.looks = key.map(({look}) => look);
    const tally = new Uint32Array(scatter.looks.length);
    for (let point = 0; point < this.size; ++point) ++tally[scatter.look[point]];
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
    this.key.hidden = byClass;
    this.buttons?.forEach(({swatch}, index) => {
      swatch.hidden = !byClass;
      if (byClass) swatch.replaceChildren(swatchOf(scatter.looks[index]));
    });
    this.filtered();
  }

  /** Applies the choice of classes, counts anew and draws. */
  filtered() {
    const tally = new Uint32Array(this.run.classes.length);
    let shown = 0;
    for (let point = 0; point < this.size; ++point) {
      const index = this.classOf(point);
      if (index >= 0 && index < tally.length) ++tally[index];
      const faded = this.only.size > 0 && !this.only.has(index);
      this.scatter.faded[point] = Number(faded);
      shown += Number(!faded);
    }
    this.buttons?.forEach(({button, number}, index) => {
      number.textContent = count(tally[index]);
      button.setAttribute('aria-pressed', String(this.only.has(index)));
    });
    this.all.disabled = this.only.size === 0;
    this.shown.textContent = this.only.size > 0 ? `${count(shown)} of ${counted(this.size, 'point')}` : '';
    choose('map-classes', [...this.only]);
    if (this.pointed >= 0 && this.scatter.faded[this.pointed]) this.letGo();
    this.redraw();
  }

  redraw() {
    this.scatter.draw();
    this.plot.classList.toggle('zoomed', this.scatter.zoom > 1);
    this.place();
  }

  sayRound() {
    const {round} = this.embedding.rounds[this.round];
    const text = round === 0 ? 'before training' : `${round} of ${this.embedding.rounds[this.last].round}`;
    this.slider.value = String(this.round);
    this.slider.setAttribute('aria-valuetext', `round ${text}`);
    this.roundText.textContent = text;
  }

  /**
   * Goes to a round. Points travel where the reader has nothing against motion.
   * @param {number} index
   * @param {() => void} [arrived]
   */
  go(index, arrived) {
    cancelAnimationFrame(this.frame);
    this.round = index;
    choose('map-round', index === this.last ? -1 : index);
    this.sayRound();
    const [from, to] = [this.scatter.xy.slice(), this.at(index).xy];
    this.recolour();
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
      this.scatter.xy.set(to);
      this.redraw();
      arrived?.();
      return;
    }
    const began = performance.now();
    const move = (/** @type {number} */ now) => {
      const time = Math.min(1, Math.max(0, (now - began) / MOVE));
      const part = time * time * (3 - 2 * time);
      for (let i = 0; i < to.length; ++i) this.scatter.xy[i] = from[i] + (to[i] - from[i]) * part;
      this.redraw();
      if (time < 1) this.frame = requestAnimationFrame(move);
      else arrived?.();
    };
    this.frame = requestAnimationFrame(move);
  }

  start() {
    this.play.textContent = 'Pause';
    const step = () =>
      this.go(this.round === this.last ? 0 : this.round + 1, () => {
        if (!this.playing) return;
        if (this.round === this.last) this.stop();
        else this.playing = window.setTimeout(step, REST);
      });
    this.playing = window.setTimeout(step, 0);
  }

  stop() {
    clearTimeout(this.playing);
    this.playing = 0;
    this.play.textContent = 'Play';
  }

  /** @param {HTMLCanvasElement} canvas */
  listen(canvas) {
    /** @type {{x: number, y: number, moved: boolean} | null} */
    let drag = null;
    canvas.addEventListener('pointerdown', (event) => {
      drag = {x: event.clientX, y: event.clientY, moved: false};
    });
    canvas.addEventListener('pointermove', (event) => {
      if (drag && event.buttons && this.scatter.zoom > 1) {
        const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
        if (drag.moved || Math.hypot(dx, dy) > 4) {
          this.scatter.pan(dx, dy);
          drag = {x: event.clientX, y: event.clientY, moved: true};
          this.redraw();
          return;
        }
      }
      if (!this.pinned) this.point(this.scatter.nearest(event.offsetX, event.offsetY, REACH));
    });
    canvas.addEventListener('pointerup', (event) => {
      if (drag && !drag.moved) {
        const point = this.scatter.nearest(event.offsetX, event.offsetY, 2 * REACH);
        this.pinned = point >= 0;
        this.point(point);
      }
      drag = null;
    });
    canvas.addEventListener('pointerleave', () => {
      if (!this.pinned) this.letGo();
    });
    canvas.addEventListener('blur', () => this.letGo());
    canvas.addEventListener(
      'wheel',
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // the page scrolls as everywhere else
        event.preventDefault();
        this.scatter.zoomBy(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.offsetX, event.offsetY);
        this.redraw();
      },
      {passive: false},
    );
    canvas.addEventListener('keydown', (event) => {
      const directions = new Map([
        ['ArrowUp', [0, 1]],
        ['ArrowDown', [0, -1]],
        ['ArrowLeft', [-1, 0]],
        ['ArrowRight', [1, 0]],
      ]);
      const direction = directions.get(event.key);
      if (direction) {
        const {scatter} = this;
        const first = scatter.nearest(scatter.width / 2, scatter.height / 2, Infinity);
        this.pinned = true;
        this.point(this.pointed < 0 ? first : scatter.next(this.pointed, direction[0], direction[1]));
      } else if (event.key === 'Escape') this.letGo();
      else if (event.key === '+' || event.key === '=') this.scatter.zoomBy(1.4, ...this.focusPlace());
      else if (event.key === '-') this.scatter.zoomBy(1 / 1.4, ...this.focusPlace());
      else if (event.key === '0') this.scatter.zoomBy(0);
      else return;
      event.preventDefault();
      if (!direction) this.redraw();
    });
  }

  /** @returns {[number, number]} */
  focusPlace() {
    return this.pointed >= 0 ? this.scatter.position(this.pointed) : [this.scatter.width / 2, this.scatter.height / 2];
  }

  letGo() {
    this.pinned = false;
    this.point(-1);
  }

  /**
   * Says who a point is; -1 takes the card away.
   * @param {number} point
   */
  point(point) {
    if (point === this.pointed && point < 0) return;
    const other = point !== this.pointed;
    this.pointed = point;
    this.ring.hidden = point < 0;
    this.tip.hidden = point < 0;
    if (point >= 0 && other) this.tip.replaceChildren(...this.card(point));
    this.place();
  }

  /** @param {number} point */
  card(point) {
    const {label, confident, agreement} = this.at(this.round);
    const index = this.pictures[point];
    const picture = this.known.get(index);
    const name = (/** @type {number} */ which) => this.run.classes[which] ?? 'unknown';
    const sources = this.run.sources.length;
    const lines = [['Pseudo-label', name(label[point])]];
    if (this.truth) lines.push(['Truth', name(this.truth[point])]);
    lines.push(
      ['Confident', confident[point] ? 'yes' : 'no'],
      ['Sources', agreeing(Math.round(agreement[point] * sources), sources)],
    );
    return [
      picture ? thumbnail(picture) : '',
      element(
        'div',
        {},
        element('strong', {}, picture ? picture.path : `Picture ${count(index)}`),
        element('dl', {}, ...lines.flatMap(([term, text]) => [element('dt', {}, term), element('dd', {}, text)])),
      ),
    ];
  }

  /** Puts ring and card where the point is. */
  place() {
    if (this.pointed < 0) return;
    const [x, y] = this.scatter.position(this.pointed);
    const {width, height} = this.scatter;
    const out = x < 0 || y < 0 || x > width || y > height;
    this.ring.hidden = out;
    this.ring.style.transform = `translate(${x}px, ${y}px)`;
    const [tipWidth, tipHeight] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const left = x + 14 + tipWidth <= width ? x + 14 : x - 14 - tipWidth;
    const top = y + 14 + tipHeight <= height ? y + 14 : y - 14 - tipHeight;
    const within = (/** @type {number} */ value, /** @type {number} */ most) => Math.max(4, Math.min(most - 4, value));
    this.tip.style.transform = `translate(${within(left, width - tipWidth)}px, ${within(top, height - tipHeight)}px)`;
  }
}

/**
 * @param {number} index
 * @returns {Look}
 */
function classLook(index) {
  return {colour: seriesColour(index), shape: seriesShape(index)};
}

/**
 * @param {number} agree
 * @param {number} sources
 */
function agreeing(agree, sources) {
  if (agree >= sources) return sources === 1 ? 'the source agrees' : `all ${count(sources)} agree`;
  return agree <= 0 ? 'none agrees' : `${count(agree)} of ${count(sources)} agree`;
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

/**
 * The pictures of which the gallery has a thumbnail, by index.
 * @param {Run} run
 */
function knownPictures(run) {
  /** @type {Map<number, Picture>} */
  const pictures = new Map();
  for (const group of Object.values(run.gallery ?? {}))
    for (const picture of group ?? []) pictures.set(picture.index, picture);
  return pictures;
}
