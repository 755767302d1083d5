// The bound of the target error (Theorem 4.1) per round: the terms of the bias, the sum, and the disagreement that
// estimates the label mismatch.
//
// Divergences are in nats, the bound in units of the loss, disagreement in per cent, so each has its own chart.
import {chartFigure} from './charts.js';
import {absent, element, section} from './dom.js';
import {anyKnown, decimal, percent, plainNumber} from './format.js';

/** @typedef {import('./schema.js').Run} Run */
/** @typedef {import('./schema.js').Bound} Bound */
/** @typedef {import('./charts.js').Series} Series */
/** @typedef {{categories: number[], line: (term: keyof Bound) => (number | null)[]}} Terms */

/** @param {Run} run */
export function boundSection(run) {
  const rounds = run.rounds.filter((round) => round.bound);
  if (rounds.length === 0)
    return section(
      'bound',
      'The bound',
      null,
      absent(`The terms of the error bound were not computed${run.finished ? ' for this run' : ' yet'}.`),
    );
  /** @type {Terms} */
  const terms = {
    categories: rounds.map((round) => round.round),
    line: (term) => rounds.map((round) => round.bound?.[term] ?? null),
  };
  const notes = run.bound_notes ?? [];
  return section(
    'bound',
    'The bound',
    'The error on the target is bounded by a bias and a variance (Theorem 4.1). The bias grows with wrong ' +
      'pseudo-labels and with features that separate the confident pictures from the others; the variance falls as ' +
      'more pictures are confident. All terms are estimates.',
    element(
      'div',
      {class: 'charts'},
      divergences(terms),
      sums(terms),
      disagreements(terms),
      notes.length > 0 &&
        element(
          'aside',
          {class: 'notes', 'aria-label': 'Notes on the bound'},
          element('h3', {}, 'How it was estimated'),
          element('ul', {}, ...notes.map((note) => element('li', {}, note))),
        ),
    ),
  );
}

/** @param {Terms} terms */
function divergences({categories, line}) {
  return boundChart({
    id: 'bound-divergences',
    title: 'Terms of the bias',
    note: 'Two divergences between the confident set and the target; lower is better aligned.',
    categories,
    series: [
      {name: 'label mismatch, estimated', colour: 0, values: line('mismatch')},
      {name: 'label mismatch, from true labels', colour: 0, values: line('mismatch_exact'), dashed: true},
      {
        name: 'feature misalignment, joint',
        colour: 1,
        values: line('misalignment'),
        deviations: line('misalignment_error'),
      },
      {name: 'feature misalignment, mean over sources', colour: 1, values: line('misalignment_sources'), dashed: true},
      {name: 'maximum misalignment, ln(n / N)', colour: 8, values: line('misalignment_cap'), dashed: true},
    ],
    valuesTitle: 'divergence, nats',
    format: decimal,
  });
}

/** @param {Terms} terms */
function sums({categories, line}) {
  const most = line('loss_bound');
  const above = line('sum').some((sum, index) => (sum ?? 0) > (most[index] ?? Infinity));
  const vacuous = above ? ' Where it exceeds the maximum loss, it is vacuous.' : '';
  return boundChart({
    id: 'bound-sum',
    title: 'Bias, variance and sum',
    note: `The bound is the sum of bias and variance.${vacuous}`,
    categories,
    series: [
      {name: 'bias', colour: 3, values: line('bias')},
      {name: 'variance', colour: 2, values: line('variance')},
      {name: 'sum', colour: 8, values: line('sum'), thick: true},
      {name: 'sum, from true labels', colour: 8, values: line('sum_exact'), dashed: true},
      {name: 'maximum loss', colour: 4, values: line('loss_bound'), dashed: true},
    ],
    valuesTitle: 'bound, in units of the loss',
    format: decimal,
  });
}

/** @param {Terms} terms */
function disagreements({categories, line}) {
  const truth = anyKnown(line('label_error'));
  return boundChart({
    id: 'bound-disagreement',
    title: 'Label disagreement',
    note: truth
      ? 'Disagreement is a proxy for the error, which is known here. Models that share a mistake agree.'
      : 'Disagreement is a proxy for the error, which is unknown here. Models that share a mistake agree.',
    categories,
    series: [
      {name: 'sources vs. pseudo-label', colour: 0, values: line('source_disagreement')},
      {name: 'mixture vs. pseudo-label', colour: 5, values: line('criteria_disagreement')},
      {name: 'wrong pseudo-labels', colour: 8, values: line('label_error'), dashed: true},
    ],
    valuesTitle: 'share of the confident set, %',
    format: percent,
    tick: (value) => `${plainNumber(100 * value)}\u202f%`,
  });
}

/**
 * A chart of the lines with data; null if there are none.
 * @param {Omit<import('./charts.js').ChartSpec, 'type' | 'categoryTitle'>} spec
 */
function boundChart(spec) {
  const series = spec.series.filter(({values}) => anyKnown(values));
  if (series.length === 0) return null;
  return chartFigure({...spec, series, type: 'line', categoryTitle: 'round'});
}
