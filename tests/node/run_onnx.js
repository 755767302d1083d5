// Runs an ONNX model of one input in ONNX Runtime.
//
//     node run_onnx.js MODEL.onnx SHAPE TYPE INPUT.bin OUTPUT.bin
//
// SHAPE is the input's, the batch first ("3x224x224x3"), TYPE is uint8 or float32. INPUT.bin holds the elements as they
// lie in memory, little endian; OUTPUT.bin gets the first output's as float32, and its dims are printed as JSON.
'use strict';

const fs = require('fs');
const ort = require('onnxruntime-node');

const TYPES = {uint8: Uint8Array, float32: Float32Array};

function readInput(path, type, dims) {
  if (!(type in TYPES)) throw new Error(`the type ${type} is none of ${Object.keys(TYPES).join(', ')}`);
  const bytes = fs.readFileSync(path);
  const count = dims.reduce((product, extent) => product * extent, 1);
  const expected = count * TYPES[type].BYTES_PER_ELEMENT;
  if (bytes.length !== expected) throw new Error(`${path} has ${bytes.length} bytes instead of ${expected}`);
  // A copy: Node's buffer may begin at an address that no float32 may have.
  const memory = new Uint8Array(bytes).buffer;
  return new ort.Tensor(type, new TYPES[type](memory), dims);
}

async function main(model, shape, type, input, output) {
  const dims = shape.split('x').map(Number);
  if (!dims.every((extent) => Number.isInteger(extent) && extent >= 0)) throw new Error(`the shape ${shape} is none`);
  // One thread, so that tests that run at once do not fight and sums are added in one order.
  const options = {executionProviders: ['cpu'], intraOpNumThreads: 1, interOpNumThreads: 1};
  const session = await ort.InferenceSession.create(model, options);
  if (session.inputNames.length !== 1) throw new Error(`${model} has the inputs ${session.inputNames.join(', ')}`);

  const results = await session.run({[session.inputNames[0]]: readInput(input, type, dims)});
  const result = results[session.outputNames[0]];
  const values = Float32Array.from(result.data, Number);  // int64 comes as BigInt
  fs.writeFileSync(output, new Uint8Array(values.buffer));
  console.log(JSON.stringify(result.dims));
}

const parameters = process.argv.slice(2);
if (parameters.length !== 5) {
  console.error('run_onnx.js: five arguments are needed: MODEL.onnx SHAPE uint8|float32 INPUT.bin OUTPUT.bin');
  process.exit(2);
}
main(...parameters).catch((error) => {
  console.error(`run_onnx.js: ${error.message}`);
  process.exit(1);
});
