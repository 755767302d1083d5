// Report data of every kind, for tests.
//
//     node tests/web/fixture.mjs KIND > data.json     (KIND as in FIXTURES below)
import {runData} from './rundata.mjs';
import {mean, randomOf} from './simulation.mjs';

const HOSTILE = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>"\'&\u202e';

const WORD_STARTS =
  'air sea moun wind black tea hot snow rain star sun house foot hand paper steam light fire butter'.split(' ');
const WORD_ENDS =
  'plane horse tain mill berry pot dog flake bow fish flower boat ball bag clip roller house truck fly'.split(' ');

/** Made-up words as class names, like those of DomainNet. */
function manyClasses(number) {
  return Array.from({length: number}, (_, i) => {
    const [start, round] = [i % WORD_STARTS.length, Math.floor(i / WORD_STARTS.length)];
    return `${WORD_STARTS[start]}${WORD_ENDS[(round + i) % WORD_ENDS.length]}${i >= 361 ? i : ''}`;
  });
}

/** Another method, without weights and confident set, with its own losses. */
function otherMethod() {
  const data = runData({labels: true, points: 0, gallery: 0, seed: 3});
  data.method = 'shot';
  data.title = 'SHOT, an ensemble';
  data.gallery = null;
  data.bound_notes = [];
  for (const round of data.rounds) {
    Object.assign(round, {
      weights: null,
      confident: null,
      bound: null,
      accuracy: {...round.accuracy, confident: null, unconfident: null},
    });
    if (round.losses) round.losses = {self_training: round.losses.cross_entropy, information: round.losses.information};
  }
  return data;
}

/** Target without labels, accuracy on held-out pictures only, one source. */
function heldOut() {
  const data = runData({labels: false, pictures: 200, rounds: 3, sources: ['postal'], points: 0, gallery: 0, seed: 5});
  Object.assign(data, {method: 'source-ens', title: 'Source-ens', test: 'street/test'});
  data.rounds.forEach((round, index) => {
    round.test_accuracy = 0.5 + 0.1 * index;
  });
  return data;
}

/** The last two rounds were rejected, so the result is that of round 1. */
function keptEarlier() {
  const data = runData({pictures: 200, rounds: 3, sources: ['postal', 'signs'], points: 0, gallery: 0, seed: 7});
  data.kept = {round: 1, reason: 'round 3 was rejected: one class gained half of the pictures'};
  [0.5, 0.75, 0.6, 0.25].forEach((accuracy, index) => {
    data.rounds[index].accuracy.mixture = accuracy;
    data.rounds[index].weights = index < 2 ? [3, 1] : [0, 1];
  });
  return data;
}

/** Every text that comes from a file or a user is hostile. */
function hostile() {
  const data = runData({
    pictures: 200,
    classes: ['a', 'b', HOSTILE, 'd'],
    sources: [HOSTILE, 'plain'],
    rounds: 3,
    gallery: 12,
  });
  Object.assign(data, {
    name: HOSTILE,
    title: HOSTILE,
    method: HOSTILE,
    command: HOSTILE,
    labels: HOSTILE,
    created: HOSTILE,
    notes: [HOSTILE],
    bound_notes: [HOSTILE],
    verdict: {decision: 'do not use', reasons: [HOSTILE], unadapted_model: HOSTILE},
  });
  data.estimate.classes[2].right = 10;
  data.config.push([HOSTILE, HOSTILE]);
  data.versions.push([HOSTILE, HOSTILE]);
  for (const source of data.sources) source.file = HOSTILE;
  data.gallery.most_confident[0].path = HOSTILE;
  data.gallery.most_confident[1].thumb = 'https://example.org/tracker.png';
  data.gallery.most_confident[2].thumb = 'javascript:window.hacked=1';
  data.rounds.forEach((round) => {
    if (round.losses) round.losses[HOSTILE] = [1];
    round.phases[HOSTILE] = 1;
  });
  return data;
}

/** A run in progress. */
function unfinished() {
  const data = runData({rounds: 10, pictures: 600, gallery: 12});
  data.finished = false;
  Object.assign(data, {verdict: null, estimate: null, confidence: null});
  data.rounds = data.rounds.slice(0, 4);
  data.embedding.rounds = data.embedding.rounds.slice(0, 4);
  return data;
}

/** The minimum that the schema allows. */
function bare() {
  const data = runData({pictures: 50, rounds: 0, labels: false, points: 0, gallery: 0});
  data.rounds = [{round: 0, changed: 0}];
  return {
    ...data,
    finished: false,
    bound_notes: [],
    per_class: null,
    confusion: null,
    gallery: null,
    notes: [],
    config: [],
    embedding: null,
    verdict: null,
    estimate: null,
    confidence: null,
  };
}

function benchmark() {
  const columns = ['MN', 'MM', 'UP', 'SV', 'SY', 'mean'];
  const random = randomOf(5);
  const methods = [
    ['Source-ens', 78.6],
    ['BAIT', 88.4],
    ['SFDA', 85.2],
    ['SHOT', 91.1],
    ['MA', 87.9],
    ['NRC', 90.2],
    ['DECISION', 92.4],
    ['CAiDA', 92.8],
    ['Ours', 94.0],
  ];
  const rows = methods.map(([method, level], m) => {
    const cells = columns.slice(0, -1).map((_, c) => ({
      mean: Math.min(99.4, level - 8 + 4 * c * random() + 5 * random()),
      deviation: m === 0 ? null : 0.1 + 1.4 * random(),
      paper: m === 4 ? null : Math.min(99.6, level - 6 + 4 * c * random() + 5 * random()),
    }));
    const papers = cells.map((cell) => cell.paper).filter((value) => value !== null);
    return {
      method,
      cells: [
        ...cells,
        {mean: mean(cells.map((cell) => cell.mean)), deviation: 0.4, paper: papers.length > 0 ? mean(papers) : null},
      ],
    };
  });
  rows[2].cells[3] = null;
  const best = rows.map((row) => ({
    ...row,
    cells: row.cells.map((cell) => cell && {...cell, mean: Math.min(99.8, cell.mean + 0.7), paper: null}),
  }));
  return {
    schema: 1,
    kind: 'table',
    name: 'digit-five',
    created: '2026-11-15 13:20 UTC',
    command: 'tributary bench digit-five --data digit-five --methods all --seeds 3',
    versions: [
      ['tributary', '0.1.0'],
      ['device', 'cuda'],
    ],
    columns,
    tables: [
      {title: 'accuracy in the last round, or in the kept one, %', rows},
      {title: 'accuracy in the best round, %', rows: best},
    ],
    notes: ['The published scripts print the best iteration, chosen with labels.'],
  };
}

export const FIXTURES = {
  labels: () => runData(),
  unlabelled: () => runData({labels: false, seed: 11}),
  many: () =>
    runData({
      pictures: 9000,
      classes: manyClasses(345),
      sources: ['clipart', 'infograph', 'painting', 'quickdraw', 'real'],
      rounds: 12,
      points: 4000,
      gallery: 30,
    }),
  full: () => runData({points: 300, maps: 3, full: true, seed: 13}),
  large: () => runData({pictures: 25000, rounds: 20, points: 5000, maps: 5, full: true, gallery: 60}),
  other: otherMethod,
  heldOut,
  keptEarlier,
  hostile,
  unfinished,
  bare,
  table: benchmark,
};

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const make = FIXTURES[process.argv[2]];
  if (!make) throw new Error(`KIND must be one of ${Object.keys(FIXTURES).join(', ')}`);
  process.stdout.write(JSON.stringify(make()));
}
