// Tables with sortable columns and a text filter.
import {chosen, choose} from './choices.js';
import {element, scrollBox, searchField} from './dom.js';
import {count} from './format.js';

/**
 * @template R
 * @typedef {object} Column
 * @property {string} name
 * @property {(row: R) => string | number | null | undefined} value  to sort by; null comes last
 * @property {(row: R) => import('./dom.js').Child} [cell]  content, if not the value itself
 * @property {boolean} [numeric]
 * @property {string} [hint]
 */

/**
 * @template R
 * @param {object} spec
 * @param {string} spec.id
 * @param {string} spec.caption
 * @param {Column<R>[]} spec.columns
 * @param {R[]} spec.rows
 * @param {(row: R) => string} [spec.searched]  text to filter by; without it there is no filter
 * @param {string} [spec.kind]  additional class
 */
export function sortableTable({id, caption, columns, rows, searched, kind = ''}) {
  const body = element('tbody');
  const lines = rows.map((row, index) => ({
    row,
    index,
    line: lineOf(columns, row),
    text: (searched?.(row) ?? '').toLowerCase(),
  }));
  body.append(...lines.map(({line}) => line));
  const none = element('p', {class: 'absent', role: 'status', hidden: true}, 'No row matches.');
  const shown = element('p', {class: 'shown', role: 'status'});

  /** @type {HTMLElement[]} */
  const heads = [];
  const sort = (/** @type {number} */ column, /** @type {boolean} */ falling) => {
    const {value} = columns[column];
    const ordered = [...lines].sort((a, b) => compared(value(a.row), value(b.row), falling) || a.index - b.index);
    body.append(...ordered.map(({line}) => line));
    heads.forEach((head, index) =>
      head.setAttribute('aria-sort', index !== column ? 'none' : falling ? 'descending' : 'ascending'),
    );
    choose(`sort:${id}`, [column, Number(falling)]);
  };
  columns.forEach((column, index) => {
    const button = element('button', {type: 'button', title: column.hint}, column.name);
    const head = element('th', {scope: 'col', 'aria-sort': 'none', class: column.numeric ? 'numeric' : null}, button);
    button.addEventListener('click', () => {
      const before = head.getAttribute('aria-sort');
      sort(index, before === 'none' ? Boolean(column.numeric) : before === 'ascending');
    });
    heads.push(head);
  });

  const table = element(
    'table',
    {class: `plain sortable ${kind}`},
    element('caption', {class: 'unseen'}, caption),
    element('thead', {}, element('tr', {}, ...heads)),
    body,
  );
  const box = element('div', {class: 'table-box', id});
  if (searched) {
    const filter = (/** @type {string} */ word) => {
      const wanted = word.trim().toLowerCase();
      let left = 0;
      for (const {line, text} of lines) {
        line.hidden = !text.includes(wanted);
        left += Number(!line.hidden);
      }
      none.hidden = left > 0;
      shown.textContent = wanted ? `${count(left)} of ${count(rows.length)} rows` : '';
      choose(`filter:${id}`, word);
    };
    const word = chosen(`filter:${id}`, '');
    box.append(
      element(
        'div',
        {class: 'controls'},
        searchField({id: `${id}-filter`, label: 'Filter', value: word, oninput: filter}),
        shown,
      ),
    );
    filter(word);
  }
  box.append(scrollBox(caption, 'low', table));
  if (searched) box.append(none);
  const [column, falling] = chosen(`sort:${id}`, [-1, 0]);
  if (column >= 0 && column < columns.length) sort(column, Boolean(falling));
  return box;
}

/**
 * @template R
 * @param {Column<R>[]} columns
 * @param {R} row
 */
function lineOf(columns, row) {
  const line = element('tr');
  columns.forEach((column, index) => {
    const child = column.cell ? column.cell(row) : column.value(row);
    const attributes = {class: column.numeric ? 'numeric' : null, scope: index === 0 ? 'row' : null};
    line.append(element(index === 0 ? 'th' : 'td', attributes, child ?? '–'));
  });
  return line;
}

/**
 * @param {string | number | null | undefined} a
 * @param {string | number | null | undefined} b
 * @param {boolean} falling
 */
function compared(a, b, falling) {
  const missing = Number(a === null || a === undefined) - Number(b === null || b === undefined);
  if (missing !== 0 || a === null || a === undefined || b === null || b === undefined) return missing;
  const order =
    typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', {numeric: true});
  return falling ? -order : order;
}

/**
 * A share from 0 to 1 as text with a bar behind it.
 * @param {number} share
 * @param {string} text
 */
export function shareBar(share, text) {
  const bar = element('span', {class: 'share'}, text);
  bar.style.setProperty('--share', `${Math.max(0, Math.min(1, share)) * 100}%`);
  return bar;
}
