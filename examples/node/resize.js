// Bilinear resizing, bit-identical to Pillow and tributary.
//
// A triangle filter that widens when a picture is downscaled, in 22-bit fixed point, horizontal pass first.
'use strict';

const BITS = 22;

// For every output pixel: the first of its input pixels, and their weights.
function triangleFilter(from, to) {
  const scale = from / to;
  const reach = Math.max(scale, 1);
  return Array.from({length: to}, (_, out) => {
    const centre = (out + 0.5) * scale;
    const first = Math.max(0, Math.trunc(centre - reach + 0.5));
    const end = Math.min(from, Math.trunc(centre + reach + 0.5));
    const exact = [];
    for (let i = first; i < end; ++i) exact.push(Math.max(0, 1 - Math.abs((i - centre + 0.5) * (1 / reach))));
    const total = exact.reduce((sum, weight) => sum + weight, 0);
    return {first, weights: exact.map((weight) => Math.trunc(0.5 + (total ? weight / total : weight) * 2 ** BITS))};
  });
}

// Resamples `lines` lines from `from` to `to` pixels. `step` and `outStep` are the strides between pixels of a line,
// `inLine` and `outLine` those between lines.
function resample(input, output, lines, from, to, step, inLine, outStep, outLine) {
  const filter = triangleFilter(from, to);
  for (let line = 0; line < lines; ++line) {
    filter.forEach(({first, weights}, out) => {
      for (let c = 0; c < 3; ++c) {
        let sum = 2 ** (BITS - 1);
        weights.forEach((weight, i) => (sum += weight * input[line * inLine + (first + i) * step + c]));
        output[line * outLine + out * outStep + c] = Math.min(255, Math.max(0, Math.floor(sum / 2 ** BITS)));
      }
    });
  }
}

function resizeBilinear(picture, width, height) {
  let {rgb} = picture;
  if (picture.width !== width) {
    const wide = new Uint8Array(width * picture.height * 3);
    resample(rgb, wide, picture.height, picture.width, width, 3, picture.width * 3, 3, width * 3);
    rgb = wide;
  }
  if (picture.height !== height) {
    const high = new Uint8Array(width * height * 3);
    resample(rgb, high, width, picture.height, height, width * 3, 3, width * 3, 3);
    rgb = high;
  }
  return {width, height, rgb};
}

module.exports = {resizeBilinear};
