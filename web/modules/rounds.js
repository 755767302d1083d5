// Charts per round: weights, the confident set, accuracy and confidence of the predictions.
import {chartFigure} from './charts.js';
import {chosen, choose} from './choices.js';
import {absent, element, section, segments} from './dom.js';
import {anyKnown, count, decimal, percent} from './format.js';
import {lastWeights, weightShares} from './summary.js';
import {sortableTable} from './tables.js';

/** @typedef {import('./schema.js').Run} Run */
/** @typedef {import('./schema.js').Round} Round */
/** @typedef {import('./charts.js').Series} Series */

const wholePercent = (/** @type {number} */ share) => percent(share, 0);

/**
 * @param {Run} run
 * @param {(round: Round) => number | null | undefined} value
 */
function throughRounds(run, value) {
  return run.rounds.map((round) => value(round) ?? null);
}

/** @param {Run} run */
function roundNumbers(run) {
  return run.rounds.map((round) => round.round);
}

/** @param {Run} run */
export function weightsSection(run) {
  const intro =
    'The weight of each source in the mixture. Its share is its magnitude relative to the sum of all magnitudes.';
  if (!lastWeights(run)) {
    return section(
      'weights',
      'Sources',
      null,
      absent(`No domain weights are recorded${run.finished ? '; not every method has them' : ' yet'}.`),
      sourcesTable(run),
    );
  }
  const series = (/** @type {(weights: number[], index: number) => number} */ value) =>
    run.sources.map((source, index) => ({
      name: source.name,
      colour: index,
      values: throughRounds(run, ({weights}) => (weights ? value(weights, index) : null)),
    }));
  const common = {type: /** @type {const} */ ('line'), categories: roundNumbers(run), categoryTitle: 'round'};
  const shares = chartFigure({
    ...common,
    id: 'weights-share',
    title: 'Share of each source',
    note: 'The shares of a round sum to 100 %.',
    series: series((weights, index) => weightShares(weights)[index]),
    valuesTitle: 'share of the weights, %',
    format: percent,
    tick: wholePercent,
  });
  const raw = chartFigure({
    ...common,
    id: 'weights-raw',
    title: 'Raw weights',
    note:
      'As learnt, without a unit. A larger sum makes the mixture more certain. The mixture uses the magnitude of ' +
      'negative weights.',
    series: series((weights, index) => weights[index]),
    valuesTitle: 'weight',
    format: decimal,
  });
  const show = (/** @type {string} */ which) => {
    shares.hidden = which !== 'share';
    raw.hidden = which === 'share';
  };
  const value = chosen('weights', 'share');
  const choice = segments({
    name: 'weights-view',
    label: 'Show',
    options: [
      ['share', 'Shares'],
      ['raw', 'Raw weights'],
    ],
    value,
    onchange: (which) => {
      choose('weights', which);
      show(which);
    },
  });
  show(value);
  return section(
    'weights',
    'Sources and their weights',
    intro,
    element('div', {class: 'controls'}, choice),
    element('div', {class: 'charts'}, shares, raw, sourcesTable(run)),
  );
}

/** @param {Run} run */
function sourcesTable(run) {
  const weights = lastWeights(run);
  const shares = weights ? weightShares(weights) : null;
  const [first, last] = [run.rounds[0]?.accuracy?.sources, run.rounds[run.rounds.length - 1]?.accuracy?.sources];
  /** @type {import('./tables.js').Column<{name: string, file: string, index: number}>[]} */
  const columns = [
    {
      name: 'Source',
      value: ({name}) => name,
      cell: ({name, file}) =>
        element('span', {}, name, element('code', {class: 'under', title: file}, file.split('/').pop())),
    },
  ];
  if (shares)
    columns.push({
      name: 'Share',
      numeric: true,
      value: ({index}) => shares[index],
      cell: ({index}) => percent(shares[index]),
    });
  if (first)
    columns.push({
      name: 'Accuracy before',
      numeric: true,
      value: ({index}) => first[index],
      cell: ({index}) => percent(first[index]),
    });
  if (last && run.rounds.length > 1)
    columns.push({
      name: 'Accuracy after',
      numeric: true,
      value: ({index}) => last[index],
      cell: ({index}) => percent(last[index]),
    });
  return sortableTable({
    id: 'sources',
    caption: 'The sources',
    columns,
    rows: run.sources.map((source, index) => ({...source, index})),
  });
}

/** @param {Run} run */
export function selectionSection(run) {
  const confident = throughRounds(run, (round) => round.confident);
  const common = {type: /** @type {const} */ ('line'), categories: roundNumbers(run), categoryTitle: 'round'};
  const charts = [];
  if (anyKnown(confident)) {
    charts.push(
      chartFigure({
        ...common,
        id: 'confident',
        title: 'Size of the confident set',
        note: `Pictures that are trained on with their pseudo-labels, out of ${count(run.pictures)}.`,
        series: [
          {name: 'confident pictures', colour: 0, values: confident, thick: true},
          {name: 'all pictures', colour: 8, values: run.rounds.map(() => run.pictures), dashed: true},
        ],
        valuesTitle: 'pictures',
        format: count,
      }),
    );
  }
  const [inside, outside] = [
    throughRounds(run, ({accuracy}) => accuracy?.confident),
    throughRounds(run, ({accuracy}) => accuracy?.unconfident),
  ];
  if (anyKnown(inside) || anyKnown(outside)) {
    charts.push(
      chartFigure({
        ...common,
        id: 'pseudo-labels',
        title: 'Accuracy of pseudo-labels',
        note: 'Inside and outside the confident set. The wider the gap, the better the selection.',
        series: [
          {name: 'inside', colour: 0, values: inside, thick: true},
          {name: 'outside', colour: 1, values: outside, thick: true},
        ],
        valuesTitle: 'accuracy, %',
        format: percent,
        tick: wholePercent,
        max: 1,
      }),
    );
  }
  if (charts.length === 0) {
    return section(
      'selection',
      'Confident set',
      null,
      absent(`No confident set is recorded${run.finished ? '; not every method selects pictures' : ' yet'}.`),
    );
  }
  const missing = run.labels ? null : absent('The accuracy of the pseudo-labels is unknown without labels.');
  return section(
    'selection',
    'Confident set',
    'Only the most confident pictures are trained on; their number grows every round.',
    element('div', {class: 'charts'}, ...charts),
    missing,
  );
}

/** @param {Run} run */
export function predictionsSection(run) {
  const common = {type: /** @type {const} */ ('line'), categories: roundNumbers(run), categoryTitle: 'round'};
  const charts = [];
  const [mixture, held] = [
    throughRounds(run, ({accuracy}) => accuracy?.mixture),
    throughRounds(run, (round) => round.test_accuracy),
  ];
  /** @type {Series[]} */
  const series = [];
  if (anyKnown(mixture)) series.push({name: 'mixture', colour: 8, values: mixture, thick: true});
  if (anyKnown(held)) series.push({name: 'mixture, held-out pictures', colour: 8, values: held, dashed: true});
  run.sources.forEach((source, index) => {
    const values = throughRounds(run, ({accuracy}) => accuracy?.sources?.[index]);
    if (anyKnown(values)) series.push({name: source.name, colour: index, values});
  });
  if (series.length > 0) {
    charts.push(
      chartFigure({
        ...common,
        id: 'accuracy',
        title: 'Accuracy',
        note: anyKnown(mixture)
          ? 'Of the mixture and of each source alone.'
          : 'Of the mixture, on held-out pictures; the labels of the target are unknown.',
        series,
        legend: true,
        valuesTitle: 'accuracy, %',
        format: percent,
        tick: wholePercent,
        max: 1,
      }),
    );
  }
  const changed = throughRounds(run, (round) => (round.round > 0 ? round.changed : null));
  if (anyKnown(changed)) {
    const trained = run.rounds.map((round, index) => ({round, index})).filter(({round}) => round.round > 0);
    charts.push(
      chartFigure({
        ...common,
        id: 'changed',
        type: 'bar',
        title: 'Predictions that changed',
        note: 'Compared with the previous round. Few changes indicate convergence.',
        categories: trained.map(({round}) => round.round),
        series: [{name: 'changed predictions', colour: 0, values: trained.map(({index}) => changed[index])}],
        valuesTitle: 'pictures',
        format: count,
      }),
    );
  }
  const confidence = throughRounds(run, (round) => round.mean_confidence);
  if (anyKnown(confidence)) {
    charts.push(
      chartFigure({
        ...common,
        id: 'confidence',
        title: 'Mean confidence',
        note: 'Confidence of the predicted class.',
        series: [{name: 'mean confidence', colour: 0, values: confidence, thick: true}],
        valuesTitle: 'confidence, %',
        format: percent,
        tick: wholePercent,
        max: 1,
      }),
    );
  }
  const [entropy, marginal] = [
    throughRounds(run, (round) => round.entropy),
    throughRounds(run, (round) => round.marginal_entropy),
  ];
  if (anyKnown(entropy) || anyKnown(marginal)) {
    const most = Math.log(run.classes.length);
    charts.push(
      chartFigure({
        ...common,
        id: 'entropy',
        title: 'Entropy',
        note: 'Predictions become certain as their entropy falls, and stay diverse if that of their mean stays high.',
        series: [
          {name: 'mean entropy of a prediction', colour: 0, values: entropy, thick: true},
          {name: 'entropy of the mean prediction', colour: 1, values: marginal, thick: true},
          {
            name: `maximum, ln ${count(run.classes.length)}`,
            colour: 8,
            values: run.rounds.map(() => most),
            dashed: true,
          },
        ],
        valuesTitle: 'entropy, nats',
        format: decimal,
      }),
    );
  }
  const missing =
    series.length > 0 ? null : absent('Without labels there is no accuracy; the following charts need none.');
  if (charts.length === 0)
    return section('predictions', 'Predictions', null, absent('No results of the predictions are recorded yet.'));
  return section('predictions', 'Predictions', null, missing, element('div', {class: 'charts'}, ...charts));
}
