// The points of a map as arrays: who they are, and in each round where they lie and what is known of them.
import {arrayOf} from './decode.js';

/** @typedef {import('./schema.js').PointCloud} PointCloud */
/** @typedef {{xy: Float32Array, label: Int16Array, confident: Uint8Array, agreement: Float32Array}} MapRound */

export class Points {
  /** @param {PointCloud} cloud */
  constructor(cloud) {
    this.cloud = cloud;
    this.size = cloud.sampled;
    this.of = cloud.of;
    this.pictures = arrayOf(Uint32Array, cloud.pictures, this.size);
    this.truth = cloud.truth ? arrayOf(Int16Array, cloud.truth, this.size) : null;
    this.last = cloud.rounds.length - 1;
    /** @type {(MapRound | undefined)[]} */
    this.decoded = [];
  }

  /**
   * The number of the round at a place of the slider.
   * @param {number} place
   */
  roundAt(place) {
    return this.cloud.rounds[place].round;
  }

  /**
   * A round's arrays; decoded when they are first wanted.
   * @param {number} place
   */
  at(place) {
    const made = this.decoded[place];
    if (made) return made;
    const {xy, label, confident, agreement} = this.cloud.rounds[place];
    const round = {
      xy: arrayOf(Float32Array, xy, 2 * this.size),
      label: arrayOf(Int16Array, label, this.size),
      confident: arrayOf(Uint8Array, confident, this.size),
      agreement: arrayOf(Float32Array, agreement, this.size),
    };
    this.decoded[place] = round;
    return round;
  }

  /**
   * One frame for all rounds, so that what moves on the screen has moved in the map: least x and y, greatest x and y.
   * @returns {[number, number, number, number]}
   */
  bounds() {
    let [left, bottom, right, top] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let place = 0; place <= this.last; ++place) {
      const {xy} = this.at(place);
      for (let i = 0; i < xy.length; i += 2) {
        if (xy[i] < left) left = xy[i];
        if (xy[i] > right) right = xy[i];
        if (xy[i + 1] < bottom) bottom = xy[i + 1];
        if (xy[i + 1] > top) top = xy[i + 1];
      }
    }
    return [left, bottom, right, top];
  }
}
