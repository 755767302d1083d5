// Every loss that a method names, round by round.
import {chartFigure} from './charts.js';
import {absent, element, section} from './dom.js';
import {anyKnown, decimal, titled} from './format.js';

/** @typedef {import('./schema.js').Run} Run */

const LOSS_TITLES = new Map([
  ['cross_entropy', ['Cross-entropy', 'How far the predictions are from the pseudo-labels; lower is closer.']],
  ['information', ['Information maximisation', 'Lower: every prediction is certain and all of them together diverse.']],
  [
    'adversarial',
    ['Adversarial alignment', 'What the features pay in the game against the discriminator; lower is more alike.'],
  ],
  [
    'discriminator',
    [
      'Discriminator',
      'What the discriminator pays in that game; it rises when the two sides can hardly be told apart.',
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
    const [title, note] = LOSS_TITLES.get(name) ?? [titled(name), 'Mean over a round’s steps.'];
    charts.push(
      chartFigure({
        id: `loss-${charts.length}`,
        type: 'line',
        title,
        note,
        places: rounds.map((round) => round.round),
        placesTitle: 'round',
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
    'Means over the steps of a round. Round 0 comes before any training and has none.',
    element('div', {class: 'charts'}, ...charts),
  );
}
