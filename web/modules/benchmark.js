// The page of a benchmark: tables with the paper's results, and one column at a time as a bar chart.
import {chartFigure, drawCharts} from './charts.js';
import {chosen, choose} from './choices.js';
import {absent, element, scrollBox, section, selection} from './dom.js';
import {counted} from './format.js';

/** @typedef {import('./schema.js').Benchmark} Benchmark */
/** @typedef {import('./schema.js').BenchmarkTable} BenchmarkTable */
/** @typedef {import('./schema.js').BenchmarkCell} BenchmarkCell */

const oneDigit = (/** @type {number} */ value) => value.toFixed(1).replace('-', '−');

/** @param {Benchmark} benchmark */
export function benchmarkHeader(benchmark) {
  const methods = new Set(benchmark.tables.flatMap((table) => table.rows.map((row) => row.method)));
  const targets = benchmark.columns.filter((column) => column !== 'mean').length;
  return element(
    'header',
    {class: 'top', id: 'summary'},
    element(
      'div',
      {class: 'top-words'},
      element('p', {class: 'eyebrow'}, 'Benchmark'),
      element('h1', {}, benchmark.name),
      element(
        'p',
        {class: 'lead'},
        `${counted(methods.size, 'method')} on ${counted(targets, 'target')}${benchmark.tables.some(hasPaper) ? ', with the paper’s results' : ''}.`,
      ),
      element('p', {class: 'created'}, benchmark.created),
    ),
  );
}

/** @param {Benchmark} benchmark */
export function benchmarkSections(benchmark) {
  if (benchmark.tables.length === 0)
    return [section('tables', 'Tables', null, absent('There is no table yet: no run of this benchmark has finished.'))];
  return benchmark.tables.map((table, index) =>
    section(
      `table-${index + 1}`,
      sentenceCase(table.title),
      null,
      tableBox(benchmark, table),
      ...(index === 0 ? (benchmark.notes ?? []).map((note) => element('p', {class: 'small note'}, note)) : []),
      bars(benchmark, table, index),
    ),
  );
}

/** @param {BenchmarkTable} table */
function hasPaper(table) {
  return table.rows.some((row) => row.cells.some((cell) => typeof cell?.paper === 'number'));
}

/** @param {string} title */
function sentenceCase(title) {
  return title.charAt(0).toUpperCase() + title.slice(1);
}

/**
 * @param {Benchmark} benchmark
 * @param {BenchmarkTable} table
 */
function tableBox(benchmark, table) {
  const best = benchmark.columns.map((_, column) =>
    Math.max(...table.rows.map((row) => row.cells[column]?.mean ?? -Infinity)),
  );
  const paper = hasPaper(table);
  const deviation = table.rows.some((row) => row.cells.some((cell) => typeof cell?.deviation === 'number'));
  const body = table.rows.map((row) =>
    element(
      'tr',
      {},
      element('th', {scope: 'row'}, row.method),
      ...benchmark.columns.map((column, index) => {
        const cell = row.cells[index];
        return element(
          'td',
          {class: `numeric${column === 'mean' ? ' mean' : ''}`},
          ...(cell ? cellOf(cell, cell.mean === best[index]) : ['–']),
        );
      }),
    ),
  );
  const legend = [
    'Bold: our best result per column.',
    deviation ? '±: standard deviation over seeds.' : '',
    paper ? 'Small: the paper’s result.' : '',
  ];
  return element(
    'div',
    {class: 'table-box'},
    scrollBox(
      table.title,
      '',
      element(
        'table',
        {class: 'plain benchmark'},
        element('caption', {class: 'unseen'}, table.title),
        element(
          'thead',
          {},
          element(
            'tr',
            {},
            element('th', {scope: 'col'}, 'Method'),
            ...benchmark.columns.map((column) => element('th', {scope: 'col', class: 'numeric'}, column)),
          ),
        ),
        element('tbody', {}, ...body),
      ),
    ),
    element('p', {class: 'small'}, legend.filter(Boolean).join(' ')),
  );
}

/**
 * @param {BenchmarkCell} cell
 * @param {boolean} best
 */
function cellOf(cell, best) {
  const mean = element(best ? 'strong' : 'span', {}, oneDigit(cell.mean));
  const deviation =
    typeof cell.deviation === 'number' && element('span', {class: 'deviation'}, ` ± ${oneDigit(cell.deviation)}`);
  const paper = typeof cell.paper === 'number' && element('span', {class: 'paper'}, `paper ${oneDigit(cell.paper)}`);
  return [element('span', {class: 'ours'}, mean, deviation), paper];
}

/**
 * @param {Benchmark} benchmark
 * @param {BenchmarkTable} table
 * @param {number} index
 */
function bars(benchmark, table, index) {
  const key = `column-${index + 1}`;
  const container = element('div', {class: 'charts'});
  const draw = (/** @type {number} */ column) => {
    const cells = table.rows.map((row) => row.cells[column]);
    /** @type {import('./charts.js').Series[]} */
    const series = [
      {
        name: 'ours',
        colour: 0,
        values: cells.map((cell) => cell?.mean),
        deviations: cells.map((cell) => cell?.deviation),
      },
    ];
    if (cells.some((cell) => typeof cell?.paper === 'number'))
      series.push({name: 'paper', colour: 1, values: cells.map((cell) => cell?.paper)});
    container.replaceChildren(
      chartFigure({
        id: `bars-${index + 1}`,
        type: 'bar',
        horizontal: true,
        width: 'wide',
        title: benchmark.columns[column] === 'mean' ? 'Mean over the targets' : `Target ${benchmark.columns[column]}`,
        note: `${sentenceCase(table.title)}. The axis starts at zero.`,
        categories: table.rows.map((row) => row.method),
        categoryTitle: '',
        series,
        valuesTitle: table.title,
        format: oneDigit,
        tick: String,
        height: 70 + table.rows.length * (series.length > 1 ? 42 : 28),
      }),
    );
  };
  const first = chosen(key, String(Math.max(0, benchmark.columns.indexOf('mean'))));
  const column = Number(first) < benchmark.columns.length ? Number(first) : 0;
  draw(column);
  return element(
    'div',
    {class: 'bars'},
    element(
      'div',
      {class: 'controls'},
      selection({
        id: key,
        label: 'Column as bars',
        value: String(column),
        options: benchmark.columns.map((name, position) => [String(position), name]),
        onchange: (value) => {
          choose(key, value);
          draw(Number(value));
          drawCharts();
        },
      }),
    ),
    container,
  );
}
