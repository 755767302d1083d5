// Runs an ONNX model with one input in ONNX Runtime.
//
//     node run_onnx.js MODEL.onnx SHAPE TYPE INPUT.bin OUTPUT.bin
//
// SHAPE is that of the input, batch first ("3x224x224x3"), TYPE is uint8 or float32. INPUT.bin holds the raw elements,
// little endian. OUTPUT.bin receives the first output as float32, and its shape is printed as JSON.
'use strict';

const fs = require('fs');
const ort = require('onnxruntime-node');

const TYPES = {uint8: Uint8Array, float32: Float32Array};

function readInput(path, type, dims) {
  if (!(type in TYPES)) throw new Error(`unknown type ${type}; choose one of ${Object.keys(TYPES).join(', ')}`);
  const bytes = fs.readFileSync(path);
  const count = dims.reduce((product, extent) => product * extent, 1);
  const expected = count * TYPES[type].BYTES_PER_ELEMENT;
  if (bytes.length !== expected) throw new Error(`${path} has ${bytes.length} bytes instead of ${expected}`);
  // Copy, because the address of Node's buffer may not be aligned for float32.
  const memory = new Uint8Array(bytes).buffer;
  return new ort.Tensor(type, new TYPES[type](memory), dims);
}

async function main(model, shape, type, input, output) {
  const dims = shape.split('x').map(Number);
  if (!dims.every((extent) => Number.isInteger(extent) && extent >= 0)) throw new Error(`invalid shape ${shape}`);
  // One thread, so that parallel tests do not compete and the order of summation is fixed.
  const options = {executionProviders: ['cpu'], intraOpNumThreads: 1, interOpNumThreads: 1};
  const session = await ort.InferenceSession.create(model, options);
  const inputs = session.inputNames.length;
  if (inputs !== 1) throw new Error(`${model} has ${inputs} inputs instead of one`);

  const results = await session.run({[session.inputNames[0]]: readInput(input, type, dims)});
  const result = results[session.outputNames[0]];
  const values = Float32Array.from(result.data, Number);  // int64 comes as BigInt
  fs.writeFileSync(output, new Uint8Array(values.buffer));
  console.log(JSON.stringify(result.dims));
}

const parameters = process.argv.slice(2);
if (parameters.length !== 5) {
  console.error('run_onnx.js: expected five arguments: MODEL.onnx SHAPE uint8|float32 INPUT.bin OUTPUT.bin');
  process.exit(2);
}
main(...parameters).catch((error) => {
  console.error(`run_onnx.js: ${error.message}`);
  process.exit(1);
});
