// Decodes arrays that are stored in the data as base64, little endian.

/**
 * @param {string} text
 * @returns {ArrayBuffer}
 */
export function bytesOf(text) {
  const Bytes = /** @type {{fromBase64?: (text: string) => Uint8Array<ArrayBuffer>}} */ (
    /** @type {unknown} */ (Uint8Array)
  );
  if (Bytes.fromBase64) return Bytes.fromBase64(text).buffer;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes.buffer;
}

/**
 * Decodes an array of `length` elements; throws if the size does not match.
 * @template {ArrayLike<number>} A
 * @param {{new (buffer: ArrayBuffer): A, BYTES_PER_ELEMENT: number}} Type
 * @param {string} text
 * @param {number} length
 * @returns {A}
 */
export function arrayOf(Type, text, length) {
  const buffer = bytesOf(text);
  if (buffer.byteLength !== length * Type.BYTES_PER_ELEMENT) {
    throw new Error(`${buffer.byteLength} bytes instead of ${length} x ${Type.BYTES_PER_ELEMENT}`);
  }
  return new Type(buffer);
}
