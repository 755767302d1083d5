// Classifies pictures with an exported model, pixel for pixel as tributary does.
//
//     npm install onnxruntime-node sharp
//     node classify.js MODEL.onnx CARD.json PICTURE...
//
// MODEL.onnx and CARD.json come from `tributary export RUN --onnx MODEL.onnx --card CARD.json`. Prints one line of CSV
// per picture: path, class, confidence.
'use strict';

const fs = require('fs');
const ort = require('onnxruntime-node');
const sharp = require('sharp');

const {resizeBilinear} = require('./resize.js');

// Offset of a centre crop. Rounds halves to even, like Python and torchvision's CenterCrop.
function cropOffset(length, size) {
  const half = (length - size) / 2;
  return Number.isInteger(half) ? half : 2 * Math.round(half / 2);
}

// Preprocesses a picture: resizes it to card.resize and takes the centre crop of card.size x card.size.
async function pixelsOf(path, card) {
  const decoded = await sharp(path).rotate().toColourspace('srgb').removeAlpha().raw().toBuffer({resolveWithObject: true});
  const {width, height} = decoded.info;
  const shorter = Math.min(width, height);
  const scaled = (side) => {
    if (card.aspect !== 'keep' || side === shorter) return card.resize;
    return Math.trunc((card.resize * side) / shorter);
  };
  const resized = resizeBilinear({width, height, rgb: decoded.data}, scaled(width), scaled(height));
  const [top, left] = [cropOffset(resized.height, card.size), cropOffset(resized.width, card.size)];
  const cropped = new Uint8Array(card.size * card.size * 3);
  for (let y = 0; y < card.size; ++y) {
    const from = ((top + y) * resized.width + left) * 3;
    cropped.set(resized.rgb.subarray(from, from + card.size * 3), y * card.size * 3);
  }
  return cropped;
}

async function main(model, cardFile, pictures) {
  const card = JSON.parse(fs.readFileSync(cardFile, 'utf8'));
  const session = await ort.InferenceSession.create(model);
  console.log('path,class,confidence');
  for (const path of pictures) {
    let decoded;
    try {
      decoded = await pixelsOf(path, card);
    } catch (error) {
      console.error(`classify.js: skipped ${path}: ${error.message}`); // sharp reads JPEG, PNG, WebP, TIFF and GIF
      process.exitCode = 1;
      continue;
    }
    const pixels = new ort.Tensor('uint8', decoded, [1, card.size, card.size, 3]);
    const {probabilities} = await session.run({pixels});
    const best = probabilities.data.reduce((top, value, k, all) => (value > all[top] ? k : top), 0);
    console.log([path, card.classes[best], probabilities.data[best].toFixed(6)].join(','));
  }
}

const [model, card, ...pictures] = process.argv.slice(2);
if (pictures.length === 0) {
  console.error('usage: node classify.js MODEL.onnx CARD.json PICTURE...');
  process.exit(2);
}
main(model, card, pictures).catch((error) => {
  console.error(`classify.js: ${error.message}`);
  process.exit(1);
});
