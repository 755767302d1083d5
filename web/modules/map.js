// The t-SNE map: a sample of pictures in several rounds or, if available, all pictures of the last round.
import {chosen, choose} from './choices.js';
import {onColours} from './colours.js';
import {absent, element, section, segments} from './dom.js';
import {count, counted} from './format.js';
import {Inspector, knownPictures, pointCard, selects} from './inspect.js';
import {Legend, colourPoints} from './legend.js';
import {Points} from './points.js';
import {Scatter} from './scatter.js';

/** @typedef {import('./schema.js').Run} Run */
/** @typedef {import('./schema.js').Embedding} Embedding */
/** @typedef {import('./legend.js').Colouring} Colouring */
/** @typedef {'sample' | 'full'} Extent */

const MOVE = 650; // milliseconds of the animation between rounds
const REST = 450; // milliseconds between animations while playing

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
  return section(
    'map',
    'Map of the pictures',
    element(
      'span',
      {},
      'Pictures with similar features are near each other (t-SNE). Only neighbourhoods are meaningful: the axes and ' +
        'the distances between groups have no unit. ',
      view.what,
    ),
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
    this.sample = new Points(embedding);
    /** @type {Points | null} */
    this.all = null;
    /** @type {Extent} */
    this.extent = embedding.full && chosen('map-extent', 'sample') === 'full' ? 'full' : 'sample';
    this.points = this.pointsOf(this.extent);
    const stored = chosen('map-round', -1);
    this.roundIndex = this.extent === 'full' || stored < 0 || stored > this.sample.last ? this.points.last : stored;
    /** @type {Colouring} */
    this.colouring = /** @type {Colouring} */ (chosen('map-colour', 'label'));
    if (!this.colourings().some(([colouring]) => colouring === this.colouring)) this.colouring = 'label';
    this.playing = 0;
    this.frame = 0;

    this.canvas = element('canvas', {class: 'map-canvas', id: 'map-canvas', tabindex: 0, role: 'application'});
    this.scatter = this.scatterOf(this.points);
    const known = knownPictures(run);
    this.inspector = new Inspector({
      canvas: this.canvas,
      scatter: () => this.scatter,
      redraw: () => this.redraw(),
      card: (point) => pointCard({run, points: this.points, roundIndex: this.roundIndex, point, known}),
    });
    this.plot = element(
      'div',
      {class: 'map-plot'},
      this.canvas,
      this.inspector.ring,
      this.inspector.tip,
      this.zoomButtons(),
    );
    this.legend = new Legend(run, () => this.filtered());
    this.what = element('span', {class: 'map-what', role: 'status'});
    this.slider = element('input', {
      type: 'range',
      autocomplete: 'off',
      id: 'map-round',
      min: 0,
      max: this.sample.last,
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
    this.roundChoice = element(
      'div',
      {class: 'rounds'},
      element('label', {for: 'map-round'}, 'Round'),
      this.play,
      this.slider,
      this.roundText,
    );
    this.controls = element('div', {class: 'controls'}, this.extentChoice(), this.colourChoice(), this.roundChoice);
    this.body = element('div', {class: 'map'}, this.plot, this.legend.body);
    this.describe();
    this.recolour();
    onColours(() => this.recolour());
    new ResizeObserver(() => this.redraw()).observe(this.plot);
  }

  /**
   * Decodes the full set when it is first shown.
   * @param {Extent} extent
   */
  pointsOf(extent) {
    if (extent === 'sample' || !this.embedding.full) return this.sample;
    this.all ??= new Points(this.embedding.full);
    return this.all;
  }

  /** @param {Points} points */
  scatterOf(points) {
    const scatter = new Scatter(this.canvas, points.size, points.bounds());
    scatter.xy.set(points.at(this.roundIndex).xy);
    return scatter;
  }

  extentChoice() {
    const {full} = this.embedding;
    if (!full) return null;
    const every = full.sampled === full.of ? 'All' : '';
    return segments({
      name: 'map-extent',
      label: 'Pictures',
      options: /** @type {[Extent, string][]} */ ([
        ['sample', `${count(this.sample.size)}, round by round`],
        ['full', `${every} ${count(full.sampled)}, last round`.trim()],
      ]),
      value: this.extent,
      onchange: (value) => this.show(value),
    });
  }

  /** The colourings for which this run has data. */
  colourings() {
    /** @type {[Colouring, string][]} */
    const options = [['label', 'Pseudo-label']];
    if (this.sample.truth) options.push(['truth', 'Truth']);
    if (selects(this.run)) options.push(['confident', 'Confident']);
    options.push(['agreement', 'Agreement']);
    return options;
  }

  colourChoice() {
    return segments({
      name: 'map-colour',
      label: 'Colour by',
      options: this.colourings(),
      value: this.colouring,
      onchange: (value) => {
        this.colouring = value;
        choose('map-colour', value);
        this.recolour();
      },
    });
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
   * Switches between the sample and all pictures.
   * @param {Extent} extent
   */
  show(extent) {
    this.stop();
    cancelAnimationFrame(this.frame);
    this.inspector.clear();
    this.extent = extent;
    choose('map-extent', extent);
    this.points = this.pointsOf(extent);
    this.roundIndex = this.points.last;
    choose('map-round', -1);
    this.scatter = this.scatterOf(this.points);
    this.describe();
    this.recolour();
  }

  recolour() {
    const key = colourPoints(this.scatter, this.run, this.points, this.roundIndex, this.colouring);
    this.legend.explain(this.scatter, key);
    this.filtered();
  }

  /** Applies the class filter and redraws. */
  filtered() {
    const {inspector, scatter} = this;
    this.legend.filter(scatter, this.points, this.roundIndex, this.colouring);
    if (inspector.pointed >= 0 && scatter.faded[inspector.pointed]) inspector.clear();
    this.redraw();
  }

  redraw() {
    this.scatter.draw();
    this.plot.classList.toggle('zoomed', this.scatter.zoom > 1);
    this.inspector.place();
  }

  /** Describes which pictures and which round the map shows. */
  describe() {
    const {points, sample} = this;
    const pictures = counted(points.size, 'picture');
    const round = points.roundAt(this.roundIndex);
    const end = sample.roundAt(sample.last);
    const part = points.size < points.of ? `${count(points.size)} of the ${counted(points.of, 'picture')}` : '';
    if (this.extent === 'full') {
      this.what.textContent =
        `This map shows ${part || `all ${pictures}`} in round ${round}, in a layout of its own: ` +
        'positions differ from those of the sample.';
    } else this.what.textContent = `This map shows ${part ? `a sample: ${part}` : `all ${pictures}`}.`;
    this.canvas.setAttribute(
      'aria-label',
      `Map of ${pictures}. The arrow keys go from point to point, plus and minus zoom, 0 shows all, Escape deselects.`,
    );
    this.roundChoice.hidden = points.last === 0;
    const text = round === 0 ? 'before training' : `${round} of ${end}`;
    this.slider.value = String(this.roundIndex);
    this.slider.setAttribute('aria-valuetext', `round ${text}`);
    this.roundText.textContent = text;
  }

  /**
   * Goes to a round. Points are animated unless the reader prefers reduced motion.
   * @param {number} roundIndex
   * @param {() => void} [arrived]
   */
  go(roundIndex, arrived) {
    cancelAnimationFrame(this.frame);
    this.roundIndex = roundIndex;
    choose('map-round', roundIndex === this.points.last ? -1 : roundIndex);
    this.describe();
    const [from, to] = [this.scatter.xy.slice(), this.points.at(roundIndex).xy];
    this.inspector.renew();
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
      this.go(this.roundIndex === this.points.last ? 0 : this.roundIndex + 1, () => {
        if (!this.playing) return;
        if (this.roundIndex === this.points.last) this.stop();
        else this.playing = window.setTimeout(step, REST);
      });
    this.playing = window.setTimeout(step, 0);
  }

  stop() {
    clearTimeout(this.playing);
    this.playing = 0;
    this.play.textContent = 'Play';
  }
}
