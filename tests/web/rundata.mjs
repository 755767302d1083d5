// Simulated report data of a run, as the program would write it. All numbers are computed from the same predictions, so
// they are consistent.
import {boundOf, mean, positionsOf, shareOf, simulate} from './simulation.mjs';
import {thumbnailOf} from './thumbnail.mjs';

const base64 = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('base64');

/**
 * @param {{pictures?: number, classes?: string[], sources?: string[], rounds?: number, labels?: boolean,
 *          points?: number, maps?: number, full?: boolean, gallery?: number, seed?: number}} [options]
 */
export function runData({
  pictures = 1000,
  classes = [...'0123456789'],
  sources = ['handwriting', 'postal', 'textured', 'signs'],
  rounds: total = 10,
  labels = true,
  points = pictures,
  maps = total + 1,
  full = false,
  gallery = 40,
  seed = 7,
} = {}) {
  const simulation = simulate({pictures, classes: classes.length, sources: sources.length, rounds: total, seed});
  const [first, last] = [simulation.rounds[0], simulation.rounds[total]];
  const files = sources.map((name) => `--source ${name}.safetensors`);
  return {
    schema: 1,
    kind: 'run',
    name: 'street',
    method: 'selective',
    title: 'Selective self-training',
    created: '2026-11-15 13:20 UTC',
    command: `tributary adapt ${files.join(' ')} --target street --run runs/street`,
    finished: true,
    versions: [
      ['tributary', '0.1.0'],
      ['LibTorch', '1.13.1'],
      ['compiler', 'GCC 12.2'],
      ['device', 'cpu'],
    ],
    config: configOf(total),
    classes,
    sources: sources.map((name) => ({name, file: `${name}.safetensors`})),
    pictures,
    labels: labels ? 'street/test-labels.idx' : null,
    rounds: simulation.rounds.map((_, round) => roundOf(simulation, round, total, labels)),
    bound_notes: boundNotes(classes.length),
    per_class: classes.map((name, k) => classFigures(simulation, name, k, labels)),
    confusion: labels
      ? {
          rows: 'truth',
          columns: 'predicted',
          before: matrixOf(simulation.K, simulation.truth, first.prediction),
          after: matrixOf(simulation.K, simulation.truth, last.prediction),
        }
      : {
          rows: 'before adaptation',
          columns: 'after adaptation',
          before: null,
          after: matrixOf(simulation.K, first.prediction, last.prediction),
        },
    embedding: points === 0 ? null : embeddingOf(simulation, {points, maps, full, labels}),
    gallery: galleryOf(simulation, classes, gallery, labels),
    verdict: {decision: 'check', reasons: ['the accuracy may be as low as 77 %, below the required 80 %']},
    estimate: {
      before: {accuracy: 80.2, low: 71, high: 88},
      after: {accuracy: 85.4, low: 77.2, high: 93.1},
      classes: classes.map((name, k) => ({class: name, pictures: k === 1 ? 0 : 90, right: k === 3 ? 61.7 : 88})),
    },
    confidence: {calibrated: true, mean: 85.4, accept_error: 2, check: pictures >> 2, accepted: pictures - (pictures >> 2)},
    notes: [
      '3 pictures could not be read and were skipped.',
      'Round 10 trained on every picture, so there was nothing left to align.',
    ],
  };
}

function roundOf(simulation, index, total, labels) {
  const {skill, truth, random, K} = simulation;
  const {round, progress, prediction, bySource, confidence, count, order, trusted, weights} = simulation.rounds[index];
  const right = (i) => prediction[i] === truth[i];
  const mixture = shareOf(order, right);
  const decay = Math.exp((-2.6 * round) / Math.max(1, total));
  return {
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
        cross_entropy: skill.map((skilled) => 0.12 + 0.8 * decay * (1.3 - skilled) + 0.02 * random()),
        information: skill.map((skilled) => -0.6 - 1.1 * progress + 0.3 * (1 - skilled) + 0.02 * random()),
        ...(round < total && {adversarial: [0.69 + 0.3 * decay], discriminator: [1.38 - 0.5 * decay]}),
      },
    }),
    changed: index > 0 ? prediction.filter((k, i) => k !== simulation.rounds[index - 1].prediction[i]).length : 0,
    accuracy: labels
      ? {
          mixture,
          sources: bySource.map((said) => shareOf(order, (i) => said[i] === truth[i])),
          confident: shareOf(
            order.filter((i) => trusted[i]),
            right,
          ),
          unconfident: shareOf(
            order.filter((i) => !trusted[i]),
            right,
          ),
        }
      : null,
    test_accuracy: labels ? 0.98 * mixture : null,
    bound: boundOf(simulation, simulation.rounds[index], labels),
  };
}

function embeddingOf(simulation, {points, maps, full, labels}) {
  const {pictures, truth, rounds} = simulation;
  const embedded = Math.min(points, pictures);
  const sample = Array.from({length: embedded}, (_, i) => Math.floor((i * pictures) / embedded));
  const steps = Math.max(1, Math.min(maps, rounds.length) - 1);
  const indices = Array.from({length: steps + 1}, (_, i) => Math.round((i * (rounds.length - 1)) / steps));
  const cloudOf = (shown, wanted) => ({
    sampled: shown.length,
    of: pictures,
    pictures: base64(Uint32Array.from(shown)),
    truth: labels ? base64(Int16Array.from(shown, (i) => truth[i])) : null,
    rounds: [...new Set(wanted)].map((index) => mapOf(simulation, rounds[index], shown)),
  });
  const all = truth.map((_, i) => i);
  return {...cloudOf(sample, indices), ...(full && {full: cloudOf(all, [rounds.length - 1])})};
}

function mapOf(simulation, round, points) {
  const {prediction, trusted, bySource} = round;
  return {
    round: round.round,
    xy: base64(positionsOf(simulation, round, points)),
    label: base64(Int16Array.from(points, (i) => prediction[i])),
    confident: base64(Uint8Array.from(points, (i) => trusted[i])),
    agreement: base64(Float32Array.from(points, (i) => shareOf(bySource, (said) => said[i] === prediction[i]))),
  };
}

function galleryOf({rounds, truth, random}, classes, size, labels) {
  const [first, last] = [rounds[0], rounds[rounds.length - 1]];
  const picture = (i) => ({
    path: `images/${classes[truth[i]]}/img_${String(i).padStart(4, '0')}.png`,
    index: i,
    thumb: thumbnailOf(truth[i], random),
    prediction: last.prediction[i],
    confidence: last.confidence[i],
    before: first.prediction[i],
    truth: labels ? truth[i] : null,
    sources: last.bySource.map((said) => said[i]),
  });
  const moved = last.order.filter((i) => last.prediction[i] !== first.prediction[i]);
  return {
    most_confident: last.order.slice(0, size).map(picture),
    least_confident: last.order
      .slice(last.order.length - size)
      .reverse()
      .map(picture),
    changed: moved.slice(0, size).map(picture),
  };
}

function classFigures({rounds, truth}, name, k, labels) {
  const [start, {prediction, confidence}] = [rounds[0].prediction, rounds[rounds.length - 1]];
  const number = (said) => said.filter((c) => c === k).length;
  const [is, of] = [number(prediction), number(truth)];
  const hits = truth.filter((c, i) => c === k && prediction[i] === k).length;
  const sure = confidence.filter((_, i) => prediction[i] === k);
  return {
    class: name,
    before: number(start),
    after: is,
    confidence: sure.length > 0 ? mean(sure) : null,
    recall: labels && of > 0 ? hits / of : null,
    precision: labels && is > 0 ? hits / is : null,
  };
}

function matrixOf(size, rows, columns) {
  const counts = Array.from({length: size}, () => new Array(size).fill(0));
  rows.forEach((k, i) => {
    counts[k][columns[i]] += 1;
  });
  return counts;
}

function configOf(rounds) {
  return [
    ['adapt.rounds', String(rounds)],
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
  ];
}

function boundNotes(classes) {
  return [
    'The bound is Eq. 2 (Theorem 4.1) for a loss between 0 and M = 1, and may fail with probability 0.05.',
    'Label mismatch is -ln(1 - e) in nats. Without labels, e is how often the sources and the mixture disagree with ' +
      'the pseudo-labels of the confident samples, a proxy: models that share a mistake agree. With labels, e is the ' +
      'share of wrong pseudo-labels, and the result is a lower bound of the paper’s term.',
    'Feature misalignment is the divergence, in nats, between the confident samples and the target set, estimated by ' +
      'a discriminator on held-out samples. It cannot exceed ln(n / N).',
    'By Remark 1 (Eq. 5) the mean misalignment of the sources’ own spaces is at most that of the joint space.',
    `Variance assumes a capacity (Natarajan dimension) of ${classes} classes times 64 joint features and C = 1.`,
    'The sum is not a guarantee: above M = 1 it is vacuous.',
  ];
}
