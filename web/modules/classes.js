// Table of results per class: predictions before and after, confidence, recall and precision.
import {absent, section} from './dom.js';
import {count, percent, signed} from './format.js';
import {shareBar, sortableTable} from './tables.js';

/** @typedef {import('./schema.js').Run} Run */
/** @typedef {import('./schema.js').ClassFigures} ClassFigures */

/** @param {Run} run */
export function classesSection(run) {
  const rows = run.per_class;
  if (!rows || rows.length === 0)
    return section('classes', 'Classes', null, absent('This report has no results per class.'));
  /** @type {import('./tables.js').Column<ClassFigures>[]} */
  const columns = [
    {name: 'Class', value: (row) => row.class},
    {
      name: 'Before',
      hint: 'Pictures predicted as this class before the adaptation',
      numeric: true,
      value: (row) => row.before,
      cell: (row) => count(row.before),
    },
    {
      name: 'After',
      hint: 'Pictures predicted as this class after the adaptation',
      numeric: true,
      value: (row) => row.after,
      cell: (row) => count(row.after),
    },
    {
      name: 'Change',
      numeric: true,
      value: (row) => row.after - row.before,
      cell: (row) => signed(row.after - row.before),
    },
  ];
  if (rows.some((row) => row.known_by))
    columns.splice(1, 0, {
      name: 'Known by',
      hint: 'The sources that know this class; one alone is confirmed by nobody',
      value: (row) => row.known_by?.length ?? run.sources.length,
      cell: (row) => (row.known_by ? row.known_by.join(', ') + (row.known_by.length === 1 ? ' alone' : '') : 'all'),
    });
  /** @type {[keyof ClassFigures, string, string][]} */
  const shares = [
    ['confidence', 'Confidence', 'Mean confidence of the pictures predicted as this class'],
    ['recall', 'Recall', 'Share of the pictures of this class that were predicted as such'],
    ['precision', 'Precision', 'Share of the pictures predicted as this class that belong to it'],
  ];
  for (const [key, name, hint] of shares) {
    const share = (/** @type {ClassFigures} */ row) => /** @type {number | null | undefined} */ (row[key]);
    if (!rows.some((row) => typeof share(row) === 'number')) continue;
    columns.push({
      name,
      hint,
      numeric: true,
      value: share,
      cell: (row) => {
        const value = share(row);
        return typeof value === 'number' ? shareBar(value, percent(value)) : null;
      },
    });
  }
  const missing = run.labels ? null : absent('Recall and precision need labels, which this run does not have.');
  return section(
    'classes',
    'Classes',
    'Number of pictures predicted per class. Select a column to sort by it.',
    sortableTable({
      id: 'per-class',
      caption: 'Results per class',
      columns,
      rows,
      searched: rows.length > 15 ? (row) => row.class : undefined,
    }),
    missing,
  );
}
