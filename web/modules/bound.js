// The bound of the target's error (Theorem 4.1), round by round: what its bias is made of, what it adds up to, and what
// the estimate of the mismatch rests on.
//
// Divergences are in nats, the bound in units of the loss, disagreement in per cent: each has a chart and an axis of
// its own.
import {chartFigure} from './charts.js';
import {absent, element, section} from './dom.js';
import {anyKnown, decimal, percent, plainNumber} from './format.js';

/** @typedef {import('./schema.js').Run} Run */
/** @typedef {import('./schema.js').Bound} Bound */
/** @typedef {import('./charts.js').Series} Series */
/** @typedef {{places: number[], line: (term: keyof Bound) => (number | null)[]}} Terms */

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
    places: rounds.map((round) => round.round),
    line: (term) => rounds.map((round) => round.bound?.[term] ?? null),
  };
  const notes = run.bound_notes ?? [];
  return section(
    'bound',
    'The bound',
    'The error on the target is bounded by a bias and a variance (Theorem 4.1). The bias grows with wrong ' +
      'pseudo-labels and with features that set the confident pictures apart; the variance falls as more pictures ' +
      'are confident. All of it is estimated.',
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
function divergences({places, line}) {
  return boundChart({
    id: 'bound-divergences',
    title: 'What the bias is made of',
    note: 'Two divergences between the confident set and the target; lower is more alike.',
    places,
    series: [
      {name: 'label mismatch, estimated', colour: 0, values: line('mismatch')},
      {name: 'label mismatch by the true labels', colour: 0, values: line('mismatch_exact'), dashed: true},
      {
        name: 'feature misalignment, joint',
        colour: 1,
        values: line('misalignment'),
        deviations: line('misalignment_error'),
      },
      {name: 'its mean over the sources', colour: 1, values: line('misalignment_sources'), dashed: true},
      {name: 'most misalignment possible, ln(n / N)', colour: 8, values: line('misalignment_cap'), dashed: true},
    ],
    valuesTitle: 'divergence, nats',
    format: decimal,
  });
}

/** @param {Terms} terms */
function sums({places, line}) {
  const most = line('loss_bound');
  const above = line('sum').some((sum, index) => (sum ?? 0) > (most[index] ?? Infinity));
  const vacuous = above ? ' Where it is above the most a loss can be, it guarantees nothing.' : '';
  return boundChart({
    id: 'bound-sum',
    title: 'What it adds up to',
    note: `Bias and variance sum to the bound.${vacuous}`,
    places,
    series: [
      {name: 'bias', colour: 3, values: line('bias')},
      {name: 'variance', colour: 2, values: line('variance')},
      {name: 'sum', colour: 8, values: line('sum'), thick: true},
      {name: 'sum by the true labels', colour: 8, values: line('sum_exact'), dashed: true},
      {name: 'most a loss can be', colour: 4, values: line('loss_bound'), dashed: true},
    ],
    valuesTitle: 'bound, in units of the loss',
    format: decimal,
  });
}

/** @param {Terms} terms */
function disagreements({places, line}) {
  const truth = anyKnown(line('label_error'));
  return boundChart({
    id: 'bound-disagreement',
    title: 'What the mismatch is estimated from',
    note: truth
      ? 'Disagreement stands for error, which here is known. Models that share a mistake agree.'
      : 'Disagreement stands for error, which nobody knows here. Models that share a mistake agree.',
    places,
    series: [
      {name: 'sources against the pseudo-label', colour: 0, values: line('source_disagreement')},
      {name: 'mixture against the pseudo-label', colour: 5, values: line('criteria_disagreement')},
      {name: 'wrong pseudo-labels', colour: 8, values: line('label_error'), dashed: true},
    ],
    valuesTitle: 'of the confident set, %',
    format: percent,
    tick: (value) => `${plainNumber(100 * value)}\u202f%`,
  });
}

/**
 * A chart of the lines that are known; nothing where none is.
 * @param {Omit<import('./charts.js').ChartSpec, 'type' | 'placesTitle'>} spec
 */
function boundChart(spec) {
  const series = spec.series.filter(({values}) => anyKnown(values));
  if (series.length === 0) return null;
  return chartFigure({...spec, series, type: 'line', placesTitle: 'round'});
}
