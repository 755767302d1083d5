// Choices of the reader, kept in session storage, because the page of a running adaptation reloads itself.

const memory = new Map();

/** @param {string} key */
function storageKey(key) {
  return `tributary:${location.pathname}:${key}`;
}

/**
 * The stored choice, or `otherwise` if there is none or it has another type.
 * @template {string | number | boolean | string[] | number[]} T
 * @param {string} key
 * @param {T} otherwise
 * @returns {T extends string ? string : T extends number ? number : T extends boolean ? boolean : T}
 */
export function chosen(key, otherwise) {
  return /** @type {any} */ (storedOr(key, otherwise));
}

/**
 * @param {string} key
 * @param {unknown} otherwise
 */
function storedOr(key, otherwise) {
  if (memory.has(key)) return memory.get(key);
  try {
    const text = sessionStorage.getItem(storageKey(key));
    if (text === null) return otherwise;
    const value = JSON.parse(text);
    return typeof value === typeof otherwise && Array.isArray(value) === Array.isArray(otherwise) ? value : otherwise;
  } catch {
    return otherwise; // browsers may deny storage to local files
  }
}

/**
 * @param {string} key
 * @param {string | number | boolean | string[] | number[]} value
 */
export function choose(key, value) {
  memory.set(key, value);
  try {
    sessionStorage.setItem(storageKey(key), JSON.stringify(value));
  } catch {
    // Without storage the choice lasts until the reload.
  }
}
