// Scatter plot of many thousand points on a canvas, fast enough to animate.
//
// Points are stamped directly into the pixels: 25,000 small shapes take a few milliseconds, paths would take many times
// that. The plot knows only positions and looks, not the meaning of points.
import {rgb} from './colours.js';

/** @typedef {import('./colours.js').Shape} Shape */
/** @typedef {{colour: string, shape: Shape}} Look */

const MARGIN = 14; // pixels between the outermost points and the border

export class Scatter {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {number} points
   * @param {[number, number, number, number]} bounds  min x, min y, max x, max y
   */
  constructor(canvas, points, bounds) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    this.points = points;
    this.bounds = bounds;
    this.zoom = 1;
    this.centre = [(bounds[0] + bounds[2]) / 2, (bounds[1] + bounds[3]) / 2];
    this.xy = new Float32Array(2 * points);
    this.looks = /** @type {Look[]} */ ([]);
    this.look = new Uint16Array(points); // index into the looks
    this.faded = new Uint8Array(points);
    this.paper = '#ffffff';
    this.faint = '#cccccc';
    this.order = shuffledOrder(points);
    this.width = 0;
    this.height = 0;
  }

  /** Adopts the size of the canvas in the page; returns false if it is not shown. */
  fit() {
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (width === 0 || height === 0) return false;
    if (this.canvas.width !== width || this.canvas.height !== height || !this.image) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = this.context.createImageData(width, height);
    }
    this.ratio = ratio;
    return true;
  }

  /** CSS pixels per data unit, the same for x and y, so that distances are preserved. */
  get scale() {
    const [left, bottom, right, top] = this.bounds;
    const fits = Math.min(
      (this.width - 2 * MARGIN) / Math.max(1e-9, right - left),
      (this.height - 2 * MARGIN) / Math.max(1e-9, top - bottom),
    );
    return Math.max(1e-9, fits) * this.zoom;
  }

  /**
   * Position of a point in the canvas, in CSS pixels.
   * @param {number} point
   * @returns {[number, number]}
   */
  position(point) {
    const {scale} = this;
    return [
      this.width / 2 + (this.xy[2 * point] - this.centre[0]) * scale,
      this.height / 2 - (this.xy[2 * point + 1] - this.centre[1]) * scale,
    ];
  }

  get radius() {
    const plain = this.points > 10000 ? 1.9 : this.points > 3000 ? 2.5 : 3.4;
    return plain * Math.min(2, Math.sqrt(this.zoom)) * (this.width < 500 ? 0.85 : 1);
  }

  draw() {
    if (!this.fit() || !this.image) return;
    const {image, ratio = 1, scale} = this;
    const {width, height, data} = image;
    const whole = new Uint32Array(data.buffer);
    const [red, green, blue] = rgb(this.paper);
    whole.fill((255 << 24) | (blue << 16) | (green << 8) | red);

    const radius = this.radius * ratio;
    const stamps = this.looks.map(({colour, shape}) => ({colour: rgb(colour), stamp: stampOf(shape, radius)}));
    const faint = {colour: rgb(this.faint), stamp: stampOf('disc', radius * 0.8)};
    const [offsetX, offsetY] = [
      (this.width / 2 - this.centre[0] * scale) * ratio,
      (this.height / 2 + this.centre[1] * scale) * ratio,
    ];
    const step = scale * ratio;
    // Filtered points are drawn faintly beneath the others.
    for (const pass of [1, 0]) {
      for (const point of this.order) {
        if (this.faded[point] !== pass) continue;
        const {colour, stamp} = pass === 1 ? faint : stamps[this.look[point]];
        stampPoint(
          data,
          width,
          height,
          Math.round(offsetX + this.xy[2 * point] * step),
          Math.round(offsetY - this.xy[2 * point + 1] * step),
          stamp,
          colour,
          pass === 1 ? 0.35 : 0.86,
        );
      }
    }
    this.context.putImageData(image, 0, 0);
  }

  /**
   * The point nearest to a position in the canvas, at most `reach` pixels away; -1 if there is none.
   * @param {number} x
   * @param {number} y
   * @param {number} reach
   */
  nearest(x, y, reach) {
    const {scale} = this;
    const [dataX, dataY] = [
      this.centre[0] + (x - this.width / 2) / scale,
      this.centre[1] - (y - this.height / 2) / scale,
    ];
    let [best, least] = [-1, (reach / scale) ** 2];
    for (let point = 0; point < this.points; ++point) {
      if (this.faded[point] === 1) continue;
      const distance = (this.xy[2 * point] - dataX) ** 2 + (this.xy[2 * point + 1] - dataY) ** 2;
      if (distance < least) [best, least] = [point, distance];
    }
    return best;
  }

  /**
   * The next point from another in a direction, within 45 degrees; the point itself if there is none.
   * @param {number} from
   * @param {number} directionX
   * @param {number} directionY  up is positive
   */
  next(from, directionX, directionY) {
    const [x, y] = [this.xy[2 * from], this.xy[2 * from + 1]];
    let [best, least] = [from, Infinity];
    for (let point = 0; point < this.points; ++point) {
      if (point === from || this.faded[point] === 1) continue;
      const [dx, dy] = [this.xy[2 * point] - x, this.xy[2 * point + 1] - y];
      const ahead = dx * directionX + dy * directionY;
      const aside = Math.abs(dx * directionY - dy * directionX);
      if (ahead <= 0 || aside > ahead) continue;
      const cost = ahead + 2 * aside;
      if (cost < least) [best, least] = [point, cost];
    }
    return best;
  }

  /**
   * Zooms about a position in the canvas, which stays fixed.
   * @param {number} factor
   * @param {number} [x]
   * @param {number} [y]
   */
  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.scale;
    this.zoom = Math.max(1, Math.min(40, this.zoom * factor));
    const after = this.scale;
    this.centre[0] += (x - this.width / 2) * (1 / before - 1 / after);
    this.centre[1] -= (y - this.height / 2) * (1 / before - 1 / after);
    this.keepInside();
  }

  /**
   * @param {number} dx  CSS pixels
   * @param {number} dy
   */
  pan(dx, dy) {
    this.centre[0] -= dx / this.scale;
    this.centre[1] += dy / this.scale;
    this.keepInside();
  }

  keepInside() {
    const [left, bottom, right, top] = this.bounds;
    const centre = [(left + right) / 2, (bottom + top) / 2];
    const free = 1 - 1 / this.zoom;
    [
      [right - left, 0],
      [top - bottom, 1],
    ].forEach(([extent, axis]) => {
      const reach = (extent / 2) * free;
      this.centre[axis] = Math.max(centre[axis] - reach, Math.min(centre[axis] + reach, this.centre[axis]));
    });
  }
}

/**
 * A shuffled drawing order: with data sorted by class, later classes would hide the first ones.
 * @param {number} points
 */
function shuffledOrder(points) {
  const order = Uint32Array.from({length: points}, (_, index) => index);
  let state = 12345;
  for (let i = points - 1; i > 0; --i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = state % (i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** @typedef {{size: number, cover: Float32Array}} Stamp  coverage of each pixel by a shape */

/** @type {Map<string, Stamp>} */
const stampsMade = new Map();

/**
 * @param {Shape} shape
 * @param {number} radius  in canvas pixels
 * @returns {Stamp}
 */
function stampOf(shape, radius) {
  const key = `${shape} ${radius.toFixed(2)}`;
  const made = stampsMade.get(key);
  if (made) return made;
  const reach = Math.ceil(radius * 1.3);
  const size = 2 * reach + 1;
  const cover = new Float32Array(size * size);
  const fine = 4;
  for (let y = 0; y < size * fine; ++y) {
    for (let x = 0; x < size * fine; ++x) {
      const [u, v] = [((x + 0.5) / fine - reach - 0.5) / radius, ((y + 0.5) / fine - reach - 0.5) / radius];
      if (inside(shape, u, v)) cover[Math.floor(y / fine) * size + Math.floor(x / fine)] += 1 / (fine * fine);
    }
  }
  const stamp = {size, cover};
  stampsMade.set(key, stamp);
  return stamp;
}

/**
 * @param {Shape} shape
 * @param {number} u  to the right, in units of the radius
 * @param {number} v  down
 */
function inside(shape, u, v) {
  switch (shape) {
    case 'disc':
      return u * u + v * v <= 1;
    case 'square':
      return Math.max(Math.abs(u), Math.abs(v)) <= 0.88;
    case 'triangle':
      return v <= 0.75 && v >= -1.05 + 1.75 * Math.abs(u);
    case 'diamond':
      return Math.abs(u) + Math.abs(v) <= 1.2;
    default:
      return u * u + v * v <= 1.1 && u * u + v * v >= 0.3;
  }
}

/**
 * @param {Uint8ClampedArray} data
 * @param {number} width
 * @param {number} height
 * @param {number} x
 * @param {number} y
 * @param {Stamp} stamp
 * @param {number[]} colour
 * @param {number} opacity
 */
function stampPoint(data, width, height, x, y, stamp, colour, opacity) {
  const {size, cover} = stamp;
  const [left, top] = [x - (size - 1) / 2, y - (size - 1) / 2];
  if (left < 0 || top < 0 || left + size > width || top + size > height) return;
  const red = colour[0],
    green = colour[1],
    blue = colour[2];
  for (let j = 0; j < size; ++j) {
    let at = 4 * ((top + j) * width + left);
    for (let i = 0; i < size; ++i, at += 4) {
      const part = cover[j * size + i] * opacity;
      if (part === 0) continue;
      data[at] += (red - data[at]) * part;
      data[at + 1] += (green - data[at + 1]) * part;
      data[at + 2] += (blue - data[at + 2]) * part;
    }
  }
}
