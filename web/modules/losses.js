// Charts of all losses of a method per round.
import {chartFigure} from './charts.js';
import {absent, element, section} from './dom.js';
import {anyKnown, decimal, titled} from './format.js';

/** @typedef {import('./schema.js').Run} Run */

const LOSS_TITLES = new Map([
  ['cross_entropy', ['Cross-entropy', 'Distance of the predictions from the pseudo-labels; lower is closer.']],
  ['information', ['Information maximisation', 'Lower: each prediction is certain and all of them are diverse.']],
  [
    'adversarial',
    ['Adversarial alignment', 'Loss of the features against the discriminator; lower is better aligned.'],
  ],
  [
    'discriminator',
    [
      'Discriminator',
      'Loss of the discriminator; it rises as the two sets become harder to tell apart.',
    ],
  ],
]);

/** @param {Run} run */
export function lossesSection(run) {
  const rounds = run.rounds.filter((round) => round.losses);
  const names = [...new Set(rounds.flatMap((round) => Object.keys(round.losses ?? {})))];
  const charts = [];
  for (const name of names) {
    const lines = Math.max(0, ...rounds.map((round) => round.losses?.[name]?.length ?? 0));
    const series = Array.from({length: lines}, (_, index) => ({
      name: lines === 1 ? titled(name).toLowerCase() : (run.sources[index]?.name ?? `${index + 1}`),
      colour: index,
      values: rounds.map((round) => round.losses?.[name]?.[index] ?? null),
    }));
    if (!series.some(({values}) => anyKnown(values))) continue;
    const [title, note] = LOSS_TITLES.get(name) ?? [titled(name), 'Mean over the steps of a round.'];
    charts.push(
      chartFigure({
        id: `loss-${charts.length}`,
        type: 'line',
        title,
        note,
        categories: rounds.map((round) => round.round),
        categoryTitle: 'round',
        series,
        valuesTitle: 'loss',
        format: decimal,
      }),
    );
  }
  if (charts.length === 0)
    return section(
      'losses',
      'Losses',
      null,
      absent(`No losses are recorded${run.finished ? '; not every method trains' : ' yet'}.`),
    );
  return section(
    'losses',
    'Losses',
    'Means over the steps of a round. Round 0 is before any training and has none.',
    element('div', {class: 'charts'}, ...charts),
  );
}
