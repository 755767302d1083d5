// The points of a map as arrays: their pictures, and their positions and labels in each round.
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
   * The number of the round at a position of the slider.
   * @param {number} roundIndex
   */
  roundAt(roundIndex) {
    return this.cloud.rounds[roundIndex].round;
  }

  /**
   * The arrays of a round, decoded on first use.
   * @param {number} roundIndex
   */
  at(roundIndex) {
    const made = this.decoded[roundIndex];
    if (made) return made;
    const {xy, label, confident, agreement} = this.cloud.rounds[roundIndex];
    const round = {
      xy: arrayOf(Float32Array, xy, 2 * this.size),
      label: arrayOf(Int16Array, label, this.size),
      confident: arrayOf(Uint8Array, confident, this.size),
      agreement: arrayOf(Float32Array, agreement, this.size),
    };
    this.decoded[roundIndex] = round;
    return round;
  }

  /**
   * Common bounds of all rounds, so that movement on the screen is movement in the map: min x, min y, max x, max y.
   * @returns {[number, number, number, number]}
   */
  bounds() {
    let [left, bottom, right, top] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let roundIndex = 0; roundIndex <= this.last; ++roundIndex) {
      const {xy} = this.at(roundIndex);
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
