// Reports as the program would write them, from a small simulation: pictures with a truth, sources that are right more
// or less often, rounds in which the mixture gets better. All figures are counted from the same predictions, so they
// agree.
//
//     node tests/web/fixture.mjs KIND > data.json     (KIND as in FIXTURES below)
import {deflateSync} from 'node:zlib';

const HOSTILE = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>"\'&\u202e';

/** Numbers of 0..1 that are the same on every machine (mulberry32). */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const base64 = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('base64');
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
const shareOf = (values, right) => (values.length === 0 ? null : values.filter(right).length / values.length);
const table = (size) => Array.from({length: size}, () => new Array(size).fill(0));

// Digits of 5 x 7, for thumbnails that look like something.
const GLYPHS = [
  '01110100011001110101110011000101110',
  '00100011000010000100001000010001110',
  '01110100010000100010001000100011111',
  '11111000100010000010000011000101110',
  '00010001100101010010111110001000010',
  '11111100001111000001000011000101110',
  '00110010001000011110100011000101110',
  '11111000010001000100010000100001000',
  '01110100011000101110100011000101110',
  '01110100011000101111000010001001100',
];

/** A PNG of 32 x 32, as a data: address. */
export function thumbnailOf(digit, random) {
  const size = 32;
  const [ground, ink] = [[0, 1, 2].map(() => 40 + 150 * random()), [0, 1, 2].map(() => 200 + 55 * random())];
  const [dx, dy] = [7 + Math.floor(4 * random()), 3 + Math.floor(3 * random())];
  const raw = Buffer.alloc(size * (1 + 3 * size));
  for (let y = 0; y < size; ++y) {
    for (let x = 0; x < size; ++x) {
      const [column, row] = [Math.floor((x - dx) / 3.4), Math.floor((y - dy) / 3.6)];
      const on = column >= 0 && column < 5 && row >= 0 && row < 7 && GLYPHS[digit % 10][row * 5 + column] === '1';
      for (let channel = 0; channel < 3; ++channel) {
        const value = (on ? ink[channel] : ground[channel]) + 22 * (random() - 0.5) + (on ? 0 : y);
        raw[y * (1 + 3 * size) + 1 + 3 * x + channel] = Math.max(0, Math.min(255, value));
      }
    }
  }
  const chunk = (type, body) => {
    const data = Buffer.concat([Buffer.from(type), body]);
    const framed = Buffer.alloc(data.length + 8);
    framed.writeUInt32BE(body.length, 0);
    data.copy(framed, 4);
    framed.writeUInt32BE(crc(data), data.length + 4);
    return framed;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const png = Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(raw)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  return `data:image/png;base64,${png.toString('base64')}`;
}

function crc(bytes) {
  let value = ~0;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; ++bit) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  }
  return ~value >>> 0;
}

/**
 * The data of a run.
 * @param {{pictures?: number, classes?: string[], sources?: string[], rounds?: number, labels?: boolean,
 *          points?: number, gallery?: number, seed?: number}} [options]
 */
export function runData({
  pictures = 1000,
  classes = [...'0123456789'],
  sources = ['handwriting', 'postal', 'textured', 'signs'],
  rounds: total = 10,
  labels = true,
  points = pictures,
  gallery = 40,
  seed = 7,
} = {}) {
  const random = randomOf(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const K = classes.length;
  const truth = Array.from({length: pictures}, () => Math.floor(K * random()));
  const ease = Array.from({length: pictures}, random); // the easier a picture, the earlier it is right and confident
  const other = (k) => (k + 1 + Math.floor((K - 1) * random() ** 4)) % K; // confused with few others
  const mistaken = truth.map(other);
  const skill = sources.map((_, j) => 0.15 + (0.6 * (j + 1)) / sources.length);

  const predict = (right) => truth.map((k, i) => (ease[i] > 1 - right ? k : mistaken[i]));
  const embedded = Math.min(points, pictures);
  const chosen = Array.from({length: embedded}, (_, i) => Math.floor((i * pictures) / embedded));
  const centre = Array.from({length: K}, (_, k) =>
    [Math.cos(k * 2.4) * Math.sqrt(k + 0.6), Math.sin(k * 2.4) * Math.sqrt(k + 0.6)].map((v) => v * 30),
  );
  const spot = chosen.map(() => [normal(), normal()]);

  const rounds = [];
  const maps = [];
  let before = null;
  let last = null;
  for (let round = 0; round <= total; ++round) {
    const progress = 1 - Math.exp((-3.2 * round) / total);
    const prediction = predict(0.42 + 0.52 * progress);
    const bySource = sources.map((_, j) =>
      truth.map((k, i) =>
        ease[i] + 0.25 * normal() > 1 - skill[j] - (0.95 - skill[j]) * progress * 0.9 ? k : mistaken[i],
      ),
    );
    const confidence = ease.map((e) =>
      Math.max(1.2 / K, Math.min(0.999, 0.35 + 0.45 * e + 0.3 * progress * e + 0.05 * normal())),
    );
    const count = round === 0 ? null : Math.round(pictures * (0.64 + (0.36 * round) / total));
    const order = confidence.map((_, i) => i).sort((a, b) => confidence[b] - confidence[a]);
    const trusted = new Uint8Array(pictures);
    for (const i of order.slice(0, count ?? Math.round(pictures * 0.64))) trusted[i] = 1;
    const right = (i) => prediction[i] === truth[i];
    const inside = order.filter((i) => trusted[i]);
    const outside = order.filter((i) => !trusted[i]);
    const weights = sources.map(
      (_, j) => 0.5 + 0.1 * normal() * (1 - progress) + (1.6 * progress * (j + 0.3)) / sources.length,
    );
    const decay = Math.exp((-2.6 * round) / total);
    const bound = {
      mismatch: 0.08 + 0.5 * decay,
      misalignment: 0.05 + 0.3 * decay,
      misalignment_sources: 0.03 + 0.18 * decay,
      variance: 0.04 + 0.05 * Math.exp(-round),
      mismatch_exact: labels ? 0.06 + 0.42 * decay : null,
    };
    rounds.push({
      round,
      seconds: 3.2 + 0.4 * random() + (round > 0 ? 9 : 0),
      phases: {
        training: round > 0 ? 8.6 + 0.5 * random() : 0,
        evaluation: 1.4 + 0.1 * random(),
        weights: 0.9 + 0.1 * random(),
        labels: 0.3 + 0.05 * random(),
      },
      weights,
      confident: count,
      mean_confidence: mean(confidence),
      entropy: 0.2 + 0.9 * (1 - progress),
      marginal_entropy: Math.log(K) * (0.9 + 0.08 * progress),
      ...(round > 0 && {
        losses: {
          cross_entropy: sources.map((_, j) => 0.12 + 0.8 * decay * (1.3 - skill[j]) + 0.02 * random()),
          information: sources.map((_, j) => -0.6 - 1.1 * progress + 0.3 * (1 - skill[j]) + 0.02 * random()),
          ...(round < total && {adversarial: [0.69 + 0.3 * decay], discriminator: [1.38 - 0.5 * decay]}),
        },
      }),
      changed: before ? prediction.filter((k, i) => k !== before[i]).length : 0,
      accuracy: labels
        ? {
            mixture: shareOf(order, right),
            sources: bySource.map((said) => shareOf(order, (i) => said[i] === truth[i])),
            confident: shareOf(inside, right),
            unconfident: shareOf(outside, right),
          }
        : null,
      test_accuracy: labels ? 0.98 * (shareOf(order, right) ?? 0) : null,
      bound: {...bound, sum: bound.mismatch + bound.misalignment + bound.variance},
    });
    const spread = 34 - 22 * progress;
    const xy = new Float32Array(2 * embedded);
    chosen.forEach((i, p) => {
      const [home, pull] = [centre[truth[i]], centre[mistaken[i]]];
      const part = right(i) ? 0.12 : 0.8;
      xy[2 * p] = (home[0] + (pull[0] - home[0]) * part + spread * 0.55 * spot[p][0]) * 0.8;
      xy[2 * p + 1] = home[1] + (pull[1] - home[1]) * part + spread * 0.55 * spot[p][1];
    });
    maps.push({
      round,
      xy: base64(xy),
      label: base64(Int16Array.from(chosen, (i) => prediction[i])),
      confident: base64(Uint8Array.from(chosen, (i) => trusted[i])),
      agreement: base64(
        Float32Array.from(chosen, (i) => mean(bySource.map((said) => Number(said[i] === prediction[i])))),
      ),
    });
    before = prediction;
    last = {prediction, confidence, order, bySource};
    if (round === 0) rounds.start = prediction;
  }
  const start = rounds.start;
  delete rounds.start;

  const matrix = (rowsOf, columnsOf) => {
    const counts = table(K);
    rowsOf.forEach((k, i) => {
      counts[k][columnsOf[i]] += 1;
    });
    return counts;
  };
  const picture = (i) => ({
    path: `images/${classes[truth[i]]}/img_${String(i).padStart(4, '0')}.png`,
    index: i,
    thumb: thumbnailOf(truth[i], random),
    prediction: last.prediction[i],
    confidence: last.confidence[i],
    before: start[i],
    truth: labels ? truth[i] : null,
    sources: last.bySource.map((said) => said[i]),
  });
  const moved = last.order.filter((i) => last.prediction[i] !== start[i]);
  return {
    schema: 1,
    kind: 'run',
    name: 'street',
    method: 'selective',
    title: 'Selective self-training',
    created: '2026-11-15 13:20 UTC',
    command: `tributary adapt ${sources.map((name) => `--source ${name}.safetensors`).join(' ')} --target street --run runs/street`,
    finished: true,
    versions: [
      ['tributary', '0.1.0'],
      ['LibTorch', '1.13.1'],
      ['compiler', 'GCC 12.2'],
      ['device', 'cpu'],
    ],
    config: [
      ['adapt.rounds', String(total)],
      ['adapt.initial', '0.64'],
      ['adapt.batch', '64'],
      ['adapt.rate', '0.01'],
      ['alignment.factor', '0.5'],
      ['alignment.rate', '0.01'],
      ['augment.crop', '0.9'],
      ['aggregation.steps', '2000'],
      ['aggregation.rate', '0.05'],
      ['aggregation.start', 'uniform'],
      ['mixup.alpha', '0.3'],
      ['seed', '1'],
      ['target.data', 'street'],
      ['threads', '2'],
    ],
    classes,
    sources: sources.map((name) => ({name, file: `${name}.safetensors`})),
    pictures,
    labels: labels ? 'street/test-labels.idx' : null,
    rounds,
    bound_notes: [
      `n = ${pictures.toLocaleString('en-US')}, δ = 0.05, M = 2.3, a class of dimension d = 10.`,
      'The label mismatch is estimated from the mixture itself; the true labels give the dashed line.',
      'The misalignment is that of all features jointly; dashed below it each source’s own (Remark 1).',
    ],
    per_class: classes.map((name, k) => {
      const [was, is, of] = [
        start.filter((c) => c === k).length,
        last.prediction.filter((c) => c === k).length,
        truth.filter((c) => c === k).length,
      ];
      const hits = truth.filter((c, i) => c === k && last.prediction[i] === k).length;
      const sure = last.confidence.filter((_, i) => last.prediction[i] === k);
      return {
        class: name,
        before: was,
        after: is,
        confidence: sure.length > 0 ? mean(sure) : null,
        recall: labels && of > 0 ? hits / of : null,
        precision: labels && is > 0 ? hits / is : null,
      };
    }),
    confusion: labels
      ? {rows: 'truth', columns: 'predicted', before: matrix(truth, start), after: matrix(truth, last.prediction)}
      : {rows: 'before adaptation', columns: 'after adaptation', before: null, after: matrix(start, last.prediction)},
    embedding:
      points === 0
        ? null
        : {
            sampled: embedded,
            of: pictures,
            pictures: base64(Uint32Array.from(chosen)),
            truth: labels ? base64(Int16Array.from(chosen, (i) => truth[i])) : null,
            rounds: maps,
          },
    gallery: {
      most_confident: last.order.slice(0, gallery).map(picture),
      least_confident: last.order.slice(-gallery).reverse().map(picture),
      changed: moved.slice(0, gallery).map(picture),
    },
    notes: [
      '3 pictures could not be read and were set aside.',
      'Round 10 trained on every picture, so there was nothing left to align.',
    ],
  };
}

/** The names of DomainNet are words; made-up ones do as well. */
export function manyClasses(number) {
  const [starts, ends] = [
    [
      'air',
      'sea',
      'moun',
      'wind',
      'black',
      'tea',
      'hot',
      'snow',
      'rain',
      'star',
      'sun',
      'house',
      'foot',
      'hand',
      'paper',
      'steam',
      'light',
      'fire',
      'butter',
    ],
    [
      'plane',
      'horse',
      'tain',
      'mill',
      'berry',
      'pot',
      'dog',
      'flake',
      'bow',
      'fish',
      'flower',
      'boat',
      'ball',
      'bag',
      'clip',
      'roller',
      'house',
      'truck',
      'fly',
    ],
  ];
  return Array.from(
    {length: number},
    (_, i) =>
      `${starts[i % starts.length]}${ends[(Math.floor(i / starts.length) + i) % ends.length]}${i >= 361 ? i : ''}`,
  );
}

/** Another method: no weights, no confident set, losses of its own. */
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

/** Every text that a file or a user may bring in is hostile. */
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
  });
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

/** A run of which only the beginning is there. */
function unfinished() {
  const data = runData({rounds: 10, pictures: 600, gallery: 12});
  data.finished = false;
  data.rounds = data.rounds.slice(0, 4);
  data.embedding.rounds = data.embedding.rounds.slice(0, 4);
  return data;
}

/** As little as the schema allows. */
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
      {title: 'accuracy in the last round, %', rows},
      {title: 'accuracy in the best round, %', rows: best},
    ],
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
  large: () => runData({pictures: 25000, rounds: 19, points: 25000, gallery: 60}),
  other: otherMethod,
  hostile,
  unfinished,
  bare,
  table: benchmark,
};

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const make = FIXTURES[process.argv[2]];
  if (!make) throw new Error(`one of ${Object.keys(FIXTURES).join(', ')} is needed`);
  process.stdout.write(JSON.stringify(make()));
}
