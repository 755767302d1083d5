// The confusion matrix as a table with a readout of each cell and navigation by arrow keys.
//
// Up to 32 classes are shown in full. With more (DomainNet has 345) a part of them is shown and the others are folded
// into one row and one column, so that the cells always sum to all pictures. An overview image shows the whole matrix.
import {chosen, choose} from './choices.js';
import {between, onColours, rgb, styleColour} from './colours.js';
import {absent, element, scrollBox, searchField, section, segments, selection} from './dom.js';
import {count, counted, percent} from './format.js';

/** @typedef {import('./schema.js').Run} Run */

const WHOLE = 32; // up to this many classes are shown in full
const PART = 16; // classes shown otherwise
const PAIRS = 8; // length of the list of most confused pairs

/** @param {Run} run */
export function confusionSection(run) {
  const {confusion} = run;
  if (!confusion) return section('confusion', 'Confusion', null, absent('This report has no confusion matrix.'));
  const judged = Boolean(run.labels);
  const intro = judged
    ? 'True and predicted classes. On the diagonal they agree.'
    : 'Predicted classes before and after the adaptation. On the diagonal nothing changed.';
  const view = new ConfusionView(run, confusion);
  return section('confusion', judged ? 'Confusion' : 'Changed predictions', intro, view.controls, view.body);
}

class ConfusionView {
  /**
   * @param {Run} run
   * @param {import('./schema.js').Confusion} confusion
   */
  constructor(run, confusion) {
    this.run = run;
    this.confusion = confusion;
    this.names = confusion.names ?? run.classes;
    this.moment = confusion.before ? chosen('confusion', 'after') : 'after';
    this.unit = chosen('confusion-unit', 'count');
    this.part = chosen('confusion-part', 'most');
    this.word = chosen('confusion-word', '');
    this.container = element('div', {class: 'matrix-place'});
    this.readout = element('p', {class: 'readout'});
    this.pairs = element('div', {class: 'pairs'});
    this.overview =
      this.names.length > WHOLE
        ? element('canvas', {class: 'overview', role: 'img', width: this.names.length, height: this.names.length})
        : null;
    this.controls = element('div', {class: 'controls'}, ...this.choices());
    this.body = element(
      'div',
      {class: this.overview ? 'confusion many' : 'confusion'},
      element('div', {class: 'matrix'}, this.container, this.readout),
      element('div', {class: 'matrix-side'}, this.overview && this.overviewFigure(this.overview), this.pairs),
    );
    this.render();
    onColours(() => this.render());
  }

  get matrix() {
    return this.moment === 'before' && this.confusion.before ? this.confusion.before : this.confusion.after;
  }

  choices() {
    const made = [];
    if (this.confusion.before) {
      made.push(
        segments({
          name: 'confusion-moment',
          label: 'Predictions',
          options: [
            ['before', 'Before'],
            ['after', 'After'],
          ],
          value: this.moment,
          onchange: (value) => {
            this.moment = value;
            choose('confusion', value);
            this.render();
          },
        }),
      );
    }
    made.push(
      segments({
        name: 'confusion-unit',
        label: 'Cells',
        options: [
          ['count', 'Pictures'],
          ['share', '% of the row'],
        ],
        value: this.unit,
        onchange: (value) => {
          this.unit = value;
          choose('confusion-unit', value);
          this.render();
        },
      }),
    );
    const {classes} = this.run;
    if (classes.length > WHOLE) {
      /** @type {[string, string][]} */
      const options = [['most', `the ${PART} most confused`]];
      for (let start = 0; start < classes.length; start += PART) {
        const end = Math.min(classes.length, start + PART);
        options.push([String(start), `${start + 1}–${end}: ${classes[start]} … ${classes[end - 1]}`]);
      }
      made.push(
        selection({
          id: 'confusion-part',
          label: 'Classes',
          options,
          value: this.part,
          onchange: (value) => {
            this.part = value;
            choose('confusion-part', value);
            this.render();
          },
        }),
        searchField({
          id: 'confusion-word',
          label: 'Or filter by name',
          value: this.word,
          oninput: (value) => {
            this.word = value;
            choose('confusion-word', value);
            this.render();
          },
        }),
      );
    }
    return made;
  }

  /** Indices of the shown classes. */
  shownClasses() {
    const {classes} = this.run;
    const all = classes.map((_, index) => index);
    if (classes.length <= WHOLE) return all;
    const wanted = this.word.trim().toLowerCase();
    if (wanted) return all.filter((index) => classes[index].toLowerCase().includes(wanted)).slice(0, PART);
    if (this.part !== 'most') return all.slice(Number(this.part), Number(this.part) + PART);
    // Pair by pair, so that confused classes are adjacent.
    const most = new Set(confusedPairs(this.matrix).flatMap(({i, j}) => [i, j]));
    return [...most, ...all.filter((index) => !most.has(index))].slice(0, PART);
  }

  render() {
    const shown = this.shownClasses();
    const folded = foldedMatrix(this.matrix, shown);
    const names = shown.map((index) => this.names[index]);
    if (shown.length < this.names.length) names.push('all others');
    const total = sumOf(folded.flat());
    const {rows, columns} = this.confusion;
    const caption = `${rows} (rows) by ${columns} (columns), ${counted(total, 'picture')}`;
    const table = this.table(folded, names, shown.length, caption);
    this.container.replaceChildren(scrollBox(caption, 'matrix-scroll', table));
    const held =
      total === this.run.pictures
        ? `${counted(total, 'picture')} in total.`
        : `The matrix holds ${count(total)} of the ${counted(this.run.pictures, 'picture')}.`;
    this.readout.textContent = `${held} The stronger a cell’s colour, the larger its share of the row.`;
    this.renderPairs();
    if (this.overview) this.renderOverview(this.overview);
  }

  /**
   * @param {number[][]} matrix
   * @param {string[]} names
   * @param {number} proper  number of names that are classes
   * @param {string} caption
   */
  table(matrix, names, proper, caption) {
    const upright = names.some((name) => name.length > 4);
    const columnSums = names.map((_, j) => sumOf(matrix.map((row) => row[j])));
    const head = element(
      'tr',
      {},
      element(
        'td',
        {class: 'corner'},
        element('span', {}, `${this.confusion.columns} →`),
        element('span', {}, `${this.confusion.rows} ↓`),
      ),
      ...names.map((name) => element('th', {scope: 'col', title: name}, element('span', {}, name))),
      element('th', {scope: 'col', class: 'total'}, element('span', {}, 'all')),
    );
    const body = element('tbody');
    const colours = {
      paper: styleColour('panel'),
      right: styleColour('right'),
      wrong: styleColour('wrong'),
      mixed: styleColour('faint'),
    };
    matrix.forEach((row, i) => {
      const sum = sumOf(row);
      const line = element('tr', {}, element('th', {scope: 'row', title: names[i]}, element('span', {}, names[i])));
      row.forEach((cell, j) => {
        const td = element(
          'td',
          {tabindex: i + j === 0 ? 0 : -1, 'data-row': i, 'data-column': j, class: cell === 0 ? 'nil' : null},
          this.cellText(cell, sum),
        );
        // The cell of all others by all others contains right and wrong predictions.
        const hue = i >= proper && j >= proper ? colours.mixed : i === j ? colours.right : colours.wrong;
        if (cell > 0) shade(td, between(colours.paper, hue, 0.12 + 0.88 * Math.sqrt(cell / sum)));
        line.append(td);
      });
      line.append(element('td', {class: 'total'}, count(sum)));
      body.append(line);
    });
    const foot = element(
      'tfoot',
      {},
      element(
        'tr',
        {},
        element('th', {scope: 'row', class: 'total'}, 'all'),
        ...columnSums.map((sum) => element('td', {class: 'total'}, count(sum))),
        element('td', {class: 'total grand'}, count(sumOf(columnSums))),
      ),
    );
    const table = element(
      'table',
      {class: `confusion-table${upright ? ' upright' : ''}${names.length <= 16 ? ' roomy' : ''}`},
      element('caption', {class: 'unseen'}, caption),
      element('thead', {}, head),
      body,
      foot,
    );
    table.style.setProperty('--columns', String(names.length + 2));
    const say = (/** @type {Event} */ event) => this.say(/** @type {HTMLElement} */ (event.target), matrix, names);
    table.addEventListener('pointerover', say);
    table.addEventListener('focusin', say);
    table.addEventListener('keydown', (event) => moveFocus(event, body));
    return table;
  }

  /**
   * @param {number} cell
   * @param {number} sum
   */
  cellText(cell, sum) {
    if (this.unit === 'count' || cell === 0) return count(cell);
    const share = (100 * cell) / sum;
    return share < 0.5 ? '<1' : share.toFixed(0);
  }

  /**
   * @param {HTMLElement} target
   * @param {number[][]} matrix
   * @param {string[]} names
   */
  say(target, matrix, names) {
    const cell = /** @type {HTMLElement | null} */ (target.closest('td[data-row]'));
    if (!cell) return;
    const [i, j] = [Number(cell.dataset.row), Number(cell.dataset.column)];
    const sum = sumOf(matrix[i]);
    this.readout.textContent =
      `${this.confusion.rows} ${names[i]}, ${this.confusion.columns} ${names[j]}: ${counted(matrix[i][j], 'picture')}` +
      (sum > 0 ? `, ${percent(matrix[i][j] / sum)} of the row.` : '.');
  }

  renderPairs() {
    const pairs = confusedPairs(this.matrix);
    const {classes} = this.run;
    const title = element('h3', {}, this.run.labels ? 'Most confused' : 'Most changed');
    if (pairs.length === 0) {
      this.pairs.replaceChildren(title, absent('All cells off the diagonal are zero.'));
      return;
    }
    const rows = pairs
      .slice(0, PAIRS)
      .map(({i, j, cell}) =>
        element(
          'tr',
          {},
          element(
            'th',
            {scope: 'row'},
            classes[i],
            element('span', {class: 'arrow', 'aria-label': 'as'}, ' → '),
            classes[j],
          ),
          element('td', {class: 'numeric'}, count(cell)),
          element('td', {class: 'numeric'}, percent(cell / sumOf(this.matrix[i]))),
        ),
      );
    this.pairs.replaceChildren(
      title,
      scrollBox(
        'The largest cells off the diagonal',
        '',
        element(
          'table',
          {class: 'plain'},
          element(
            'thead',
            {},
            element(
              'tr',
              {},
              element('th', {scope: 'col'}, `${this.confusion.rows} → ${this.confusion.columns}`),
              element('th', {scope: 'col', class: 'numeric'}, 'Pictures'),
              element('th', {scope: 'col', class: 'numeric'}, 'Of the row'),
            ),
          ),
          element('tbody', {}, ...rows),
        ),
      ),
    );
  }

  /** @param {HTMLCanvasElement} canvas */
  overviewFigure(canvas) {
    canvas.addEventListener('pointermove', (event) => {
      const size = this.names.length;
      const at = (/** @type {number} */ offset, /** @type {number} */ extent) =>
        Math.max(0, Math.min(size - 1, Math.floor((offset / extent) * size)));
      const [i, j] = [at(event.offsetY, canvas.clientHeight), at(event.offsetX, canvas.clientWidth)];
      const {rows, columns} = this.confusion;
      const {classes} = this.run;
      const cell = counted(this.matrix[i][j], 'picture');
      this.readout.textContent = `${rows} ${classes[i]}, ${columns} ${classes[j]}: ${cell}.`;
    });
    return element(
      'figure',
      {class: 'overview-figure'},
      element(
        'figcaption',
        {},
        element('h3', {}, 'All classes'),
        element('p', {}, `${count(this.names.length)} rows and columns, shaded by the share of the row.`),
      ),
      canvas,
    );
  }

  /** @param {HTMLCanvasElement} canvas */
  renderOverview(canvas) {
    const size = this.names.length;
    const context = canvas.getContext('2d');
    if (!context) return;
    const image = context.createImageData(size, size);
    const [paper, right, wrong] = ['sunken', 'right', 'wrong'].map(styleColour).map(rgb);
    this.matrix.forEach((row, i) => {
      const sum = sumOf(row);
      row.forEach((cell, j) => {
        const heat = cell > 0 ? 0.3 + 0.7 * Math.sqrt(cell / sum) : 0;
        const full = i === j ? right : wrong;
        for (let channel = 0; channel < 3; ++channel) {
          image.data[4 * (i * size + j) + channel] = paper[channel] + (full[channel] - paper[channel]) * heat;
        }
        image.data[4 * (i * size + j) + 3] = 255;
      });
    });
    context.putImageData(image, 0, 0);
    let agreeing = 0;
    this.matrix.forEach((row, i) => {
      agreeing += row[i];
    });
    const share = `${count(agreeing)} of ${counted(sumOf(this.matrix.flat()), 'picture')} lie on the diagonal`;
    const {rows, columns} = this.confusion;
    canvas.setAttribute('aria-label', `${rows} by ${columns}, all classes: ${share}.`);
  }
}

/** @param {number[]} values */
function sumOf(values) {
  return values.reduce((sum, value) => sum + value, 0);
}

/**
 * The non-zero cells off the diagonal, largest first.
 * @param {number[][]} matrix
 */
function confusedPairs(matrix) {
  /** @type {{i: number, j: number, cell: number}[]} */
  const pairs = [];
  matrix.forEach((row, i) =>
    row.forEach((cell, j) => {
      if (i !== j && cell > 0) pairs.push({i, j, cell});
    }),
  );
  return pairs.sort((a, b) => b.cell - a.cell || a.i - b.i || a.j - b.j);
}

/**
 * The rows and columns of `shown`, with the sums of all others, if any, in a last row and column.
 * @param {number[][]} matrix
 * @param {number[]} shown
 */
export function foldedMatrix(matrix, shown) {
  const size = shown.length < matrix.length ? shown.length + 1 : shown.length;
  const target = new Array(matrix.length).fill(size - 1);
  shown.forEach((index, position) => {
    target[index] = position;
  });
  const folded = Array.from({length: size}, () => new Array(size).fill(0));
  matrix.forEach((row, i) =>
    row.forEach((cell, j) => {
      folded[target[i]][target[j]] += cell;
    }),
  );
  return /** @type {number[][]} */ (folded);
}

/**
 * @param {HTMLElement} cell
 * @param {string} background
 */
function shade(cell, background) {
  cell.style.backgroundColor = background;
  cell.style.color = luminance(background) > 0.18 ? '#000000' : '#ffffff'; // contrast of at least 4.5
}

/** @param {string} colour */
function luminance(colour) {
  const [r, g, b] = rgb(colour).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/**
 * Moves the focus to the next cell.
 * @param {KeyboardEvent} event
 * @param {HTMLElement} body
 */
function moveFocus(event, body) {
  const steps = new Map([
    ['ArrowUp', [-1, 0]],
    ['ArrowDown', [1, 0]],
    ['ArrowLeft', [0, -1]],
    ['ArrowRight', [0, 1]],
  ]);
  const step = steps.get(event.key);
  const from = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest('td[data-row]'));
  if (!step || !from) return;
  const [i, j] = [Number(from.dataset.row) + step[0], Number(from.dataset.column) + step[1]];
  const to = /** @type {HTMLElement | null} */ (body.querySelector(`td[data-row="${i}"][data-column="${j}"]`));
  event.preventDefault();
  if (!to) return;
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}
