// Creates elements. Text always becomes a text node, so that no file name can turn into markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Creates an element with attributes and children. A function value is an event listener ("onclick"), true an empty
 * attribute; false, null and undefined omit the attribute.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  addChildren(made, children);
  return made;
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function drawing(tag, attributes = {}, ...children) {
  const made = /** @type {SVGElement} */ (document.createElementNS('http://www.w3.org/2000/svg', tag));
  setAttributes(made, attributes);
  addChildren(made, children);
  return made;
}

/**
 * @param {Element} made
 * @param {Record<string, any>} attributes
 */
function setAttributes(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') made.addEventListener(name.replace(/^on/, ''), value);
    else made.setAttribute(name, value === true ? '' : visibleText(String(value)));
  }
}

/**
 * @param {Element} parent
 * @param {Child[]} children
 */
function addChildren(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : visibleText(String(child)));
  }
}

/**
 * Replaces invisible characters that change the text direction: with them a file name could garble its sentence or
 * pretend to end in ".png".
 * @param {string} text
 */
export function visibleText(text) {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

/**
 * A paragraph that says what is missing here and why.
 * @param {string} sentence
 */
export function absent(sentence) {
  return element('p', {class: 'absent'}, sentence);
}

// choices.js stores choices; autocomplete is off so that the browser does not restore older ones.

/**
 * A choice among a few: radio buttons styled as one bar.
 * @template {string} V
 * @param {{name: string, label: string, options: [V, string][], value: V, onchange: (value: V) => void}} choice
 */
export function segments({name, label, options, value, onchange}) {
  const group = element('fieldset', {class: 'segments'}, element('legend', {}, label));
  for (const [option, text] of options) {
    const id = `${name}-${option}`;
    const input = element('input', {
      type: 'radio',
      autocomplete: 'off',
      name,
      id,
      value: option,
      onchange: () => onchange(option),
    });
    input.checked = option === value;
    group.append(input, element('label', {for: id}, text));
  }
  return group;
}

/**
 * A choice among many.
 * @param {object} choice
 * @param {string} choice.id
 * @param {string} choice.label
 * @param {[string, string][]} choice.options
 * @param {string} choice.value
 * @param {(value: string) => void} choice.onchange
 */
export function selection({id, label, options, value, onchange}) {
  const select = element('select', {id, autocomplete: 'off', onchange: () => onchange(select.value)});
  for (const [option, text] of options) select.append(element('option', {value: option}, text));
  if (options.some(([option]) => option === value)) select.value = value;
  return element('label', {class: 'field', for: id}, element('span', {}, label), select);
}

/**
 * A search field.
 * @param {{id: string, label: string, value: string, oninput: (value: string) => void}} field
 */
export function searchField({id, label, value, oninput}) {
  const input = element('input', {
    type: 'search',
    id,
    autocomplete: 'off',
    spellcheck: 'false',
    oninput: () => oninput(input.value),
  });
  input.value = value;
  return element('label', {class: 'field', for: id}, element('span', {}, label), input);
}

/**
 * A scrollable box, so that a wide table does not widen the page. It is focusable, so that the arrow keys scroll it.
 * @param {string} label
 * @param {string} kind  additional class
 * @param {...Child} children
 */
export function scrollBox(label, kind, ...children) {
  return element('div', {class: `scroll ${kind}`, tabindex: 0, role: 'region', 'aria-label': label}, ...children);
}

/**
 * A section of the page. The navigation shows its id or, if that ends in a number, its title.
 * @param {string} id
 * @param {string} title
 * @param {Child} intro
 * @param {...Child} children
 */
export function section(id, title, intro, ...children) {
  return element(
    'section',
    {
      id,
      'data-short': /-\d+$/.test(id) ? null : id.charAt(0).toUpperCase() + id.slice(1),
      'aria-labelledby': `${id}-title`,
    },
    element('h2', {id: `${id}-title`}, title),
    intro ? element('p', {class: 'intro'}, intro) : null,
    ...children,
  );
}
