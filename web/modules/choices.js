// What the reader chose: kept over a reload, since the page of a running adaptation reloads itself.

const memory = new Map();

/** @param {string} key */
function storageKey(key) {
  return `tributary:${location.pathname}:${key}`;
}

/**
 * The choice made before, or `otherwise` (also where what was kept is of another type).
 * @template {string | number | boolean | string[] | number[]} T
 * @param {string} key
 * @param {T} otherwise
 * @returns {T extends string ? string : T extends number ? number : T extends boolean ? boolean : T}
 */
export function chosen(key, otherwise) {
  return /** @type {any} */ (keptOr(key, otherwise));
}

/**
 * @param {string} key
 * @param {unknown} otherwise
 */
function keptOr(key, otherwise) {
  if (memory.has(key)) return memory.get(key);
  try {
    const text = sessionStorage.getItem(storageKey(key));
    if (text === null) return otherwise;
    const value = JSON.parse(text);
    return typeof value === typeof otherwise && Array.isArray(value) === Array.isArray(otherwise) ? value : otherwise;
  } catch {
    return otherwise; // a browser may forbid a local file its storage
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
    // Then the choice lasts until the reload.
  }
}
