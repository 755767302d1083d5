// Generated thumbnails of digits, for test reports.
import {deflateSync} from 'node:zlib';

// Bitmaps of the digits, 5 x 7.
const GLYPHS = [
  '01110100011001110101110011000101110',
  '00100011000010000100001000010001110',
  '01110100010000100010001000100011111',
  '11111000100010000010000011000101110',
  '00010001100101010010111110001000010',
  '11111100001111000001000011000101110',
  '00110010001000011110100011000101110',
  '11111000010001000100010000100001000',
  '01110100011000101110100011000101110',
  '01110100011000101111000010001001100',
];

/** A PNG of 32 x 32, as a data: address. */
export function thumbnailOf(digit, random) {
  const size = 32;
  const [ground, ink] = [[0, 1, 2].map(() => 40 + 150 * random()), [0, 1, 2].map(() => 200 + 55 * random())];
  const [dx, dy] = [7 + Math.floor(4 * random()), 3 + Math.floor(3 * random())];
  const raw = Buffer.alloc(size * (1 + 3 * size));
  for (let y = 0; y < size; ++y) {
    for (let x = 0; x < size; ++x) {
      const [column, row] = [Math.floor((x - dx) / 3.4), Math.floor((y - dy) / 3.6)];
      const on = column >= 0 && column < 5 && row >= 0 && row < 7 && GLYPHS[digit % 10][row * 5 + column] === '1';
      for (let channel = 0; channel < 3; ++channel) {
        const value = (on ? ink[channel] : ground[channel]) + 22 * (random() - 0.5) + (on ? 0 : y);
        raw[y * (1 + 3 * size) + 1 + 3 * x + channel] = Math.max(0, Math.min(255, value));
      }
    }
  }
  const chunk = (type, body) => {
    const data = Buffer.concat([Buffer.from(type), body]);
    const framed = Buffer.alloc(data.length + 8);
    framed.writeUInt32BE(body.length, 0);
    data.copy(framed, 4);
    framed.writeUInt32BE(crc(data), data.length + 4);
    return framed;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const png = Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(raw)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  return `data:image/png;base64,${png.toString('base64')}`;
}

function crc(bytes) {
  let value = ~0;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; ++bit) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  }
  return ~value >>> 0;
}
