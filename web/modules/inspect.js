// Inspects points of the map by pointer, touch or keyboard; also handles panning and zooming.
import {element} from './dom.js';
import {count} from './format.js';
import {thumbnail} from './gallery.js';
import {agreeing} from './legend.js';

/** @typedef {import('./schema.js').Run} Run */
/** @typedef {import('./schema.js').Picture} Picture */
/** @typedef {import('./scatter.js').Scatter} Scatter */

const REACH = 14; // pixels within which a pointer finds a point

const DIRECTIONS = new Map([
  ['ArrowUp', [0, 1]],
  ['ArrowDown', [0, -1]],
  ['ArrowLeft', [-1, 0]],
  ['ArrowRight', [1, 0]],
]);

export class Inspector {
  /**
   * @param {object} map
   * @param {HTMLCanvasElement} map.canvas
   * @param {() => Scatter} map.scatter  the current scatter plot
   * @param {() => void} map.redraw
   * @param {(point: number) => import('./dom.js').Child[]} map.card  description of a point
   */
  constructor({canvas, scatter, redraw, card}) {
    this.scatterNow = scatter;
    this.redraw = redraw;
    this.card = card;
    this.pointed = -1;
    this.pinned = false;
    this.ring = element('span', {class: 'map-ring', hidden: true});
    this.tip = element('div', {class: 'map-tip', role: 'status', hidden: true});
    this.listenToPointer(canvas);
    this.listenToKeys(canvas);
  }

  /** @param {HTMLCanvasElement} canvas */
  listenToPointer(canvas) {
    /** @type {{x: number, y: number, moved: boolean} | null} */
    let drag = null;
    canvas.addEventListener('pointerdown', (event) => {
      drag = {x: event.clientX, y: event.clientY, moved: false};
    });
    canvas.addEventListener('pointermove', (event) => {
      const scatter = this.scatterNow();
      if (drag && event.buttons && scatter.zoom > 1) {
        const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
        if (drag.moved || Math.hypot(dx, dy) > 4) {
          scatter.pan(dx, dy);
          drag = {x: event.clientX, y: event.clientY, moved: true};
          this.redraw();
          return;
        }
      }
      if (!this.pinned) this.point(scatter.nearest(event.offsetX, event.offsetY, REACH));
    });
    canvas.addEventListener('pointerup', (event) => {
      if (drag && !drag.moved) {
        const point = this.scatterNow().nearest(event.offsetX, event.offsetY, 2 * REACH);
        this.pinned = point >= 0;
        this.point(point);
      }
      drag = null;
    });
    canvas.addEventListener('pointerleave', () => {
      if (!this.pinned) this.clear();
    });
    canvas.addEventListener('blur', () => this.clear());
    canvas.addEventListener(
      'wheel',
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // leave plain scrolling to the page
        event.preventDefault();
        this.scatterNow().zoomBy(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.offsetX, event.offsetY);
        this.redraw();
      },
      {passive: false},
    );
  }

  /** @param {HTMLCanvasElement} canvas */
  listenToKeys(canvas) {
    canvas.addEventListener('keydown', (event) => {
      const scatter = this.scatterNow();
      const direction = DIRECTIONS.get(event.key);
      if (direction) {
        const first = scatter.nearest(scatter.width / 2, scatter.height / 2, Infinity);
        this.pinned = true;
        this.point(this.pointed < 0 ? first : scatter.next(this.pointed, direction[0], direction[1]));
      } else if (event.key === 'Escape') this.clear();
      else if (event.key === '+' || event.key === '=') scatter.zoomBy(1.4, ...this.zoomCentre());
      else if (event.key === '-') scatter.zoomBy(1 / 1.4, ...this.zoomCentre());
      else if (event.key === '0') scatter.zoomBy(0);
      else return;
      event.preventDefault();
      if (!direction) this.redraw();
    });
  }

  /** @returns {[number, number]} */
  zoomCentre() {
    const scatter = this.scatterNow();
    return this.pointed >= 0 ? scatter.position(this.pointed) : [scatter.width / 2, scatter.height / 2];
  }

  clear() {
    this.pinned = false;
    this.point(-1);
  }

  /**
   * Shows the card of a point; -1 hides it.
   * @param {number} point
   */
  point(point) {
    if (point === this.pointed && point < 0) return;
    const other = point !== this.pointed;
    this.pointed = point;
    this.ring.hidden = point < 0;
    this.tip.hidden = point < 0;
    if (other) this.renew();
    this.place();
  }

  /** Rebuilds the card, whose content depends on the round. */
  renew() {
    if (this.pointed >= 0) this.tip.replaceChildren(.../** @type {Node[]} */ (this.card(this.pointed)));
  }

  /** Moves ring and card to the point. */
  place() {
    if (this.pointed < 0) return;
    const scatter = this.scatterNow();
    const [x, y] = scatter.position(this.pointed);
    const {width, height} = scatter;
    this.ring.hidden = x < 0 || y < 0 || x > width || y > height;
    this.ring.style.transform = `translate(${x}px, ${y}px)`;
    const [tipWidth, tipHeight] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const left = x + 14 + tipWidth <= width ? x + 14 : x - 14 - tipWidth;
    const top = y + 14 + tipHeight <= height ? y + 14 : y - 14 - tipHeight;
    const within = (/** @type {number} */ value, /** @type {number} */ most) => Math.max(4, Math.min(most - 4, value));
    this.tip.style.transform = `translate(${within(left, width - tipWidth)}px, ${within(top, height - tipHeight)}px)`;
  }
}

/**
 * Describes a point: the picture, and its state in the round.
 * @param {object} which
 * @param {Run} which.run
 * @param {import('./points.js').Points} which.points
 * @param {number} which.roundIndex
 * @param {number} which.point
 * @param {Map<number, Picture>} which.known
 */
export function pointCard({run, points, roundIndex, point, known}) {
  const {label, confident, agreement} = points.at(roundIndex);
  const index = points.pictures[point];
  const picture = known.get(index);
  const name = (/** @type {number} */ which) => run.classes[which] ?? 'unknown';
  const sources = run.sources.length;
  const lines = [['Pseudo-label', name(label[point])]];
  if (points.truth) lines.push(['Truth', name(points.truth[point])]);
  if (selects(run)) lines.push(['Confident', confident[point] ? 'yes' : 'no']);
  lines.push(['Sources', agreeing(Math.round(agreement[point] * sources), sources)]);
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

/**
 * Whether the run's method has a confident set.
 * @param {Run} run
 */
export function selects(run) {
  return run.rounds.some((round) => typeof round.confident === 'number');
}

/**
 * The pictures of the gallery by index, for their thumbnails.
 * @param {Run} run
 */
export function knownPictures(run) {
  /** @type {Map<number, Picture>} */
  const pictures = new Map();
  for (const group of Object.values(run.gallery ?? {}))
    for (const picture of group ?? []) pictures.set(picture.index, picture);
  return pictures;
}
