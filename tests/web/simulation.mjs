// Simulates a run: pictures with labels, sources of different accuracy, and rounds in which the mixture improves.

/** Uniform random numbers, the same on every machine (mulberry32). */
export function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Fraction of `values` for which `right` holds; null if there are none. */
export const shareOf = (values, right) => (values.length === 0 ? null : values.filter(right).length / values.length);

/**
 * @param {{pictures: number, classes: number, sources: number, rounds: number, seed: number}} size
 */
export function simulate({pictures, classes: K, sources, rounds: total, seed}) {
  const random = randomOf(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const truth = Array.from({length: pictures}, () => Math.floor(K * random()));
  const ease = Array.from({length: pictures}, random); // easier pictures are correct and confident earlier
  const mistaken = truth.map((k) => (k + 1 + Math.floor((K - 1) * random() ** 4)) % K); // confused with few classes
  const skill = Array.from({length: sources}, (_, j) => 0.15 + (0.6 * (j + 1)) / sources);
  const spot = truth.map(() => [normal(), normal()]);

  const rounds = [];
  for (let round = 0; round <= total; ++round) {
    const progress = 1 - Math.exp((-3.2 * round) / Math.max(1, total));
    const reach = 0.42 + 0.52 * progress;
    const prediction = truth.map((k, i) => (ease[i] > 1 - reach ? k : mistaken[i]));
    const bySource = skill.map((skilled) =>
      truth.map((k, i) =>
        ease[i] + 0.25 * normal() > 1 - skilled - (0.95 - skilled) * progress * 0.9 ? k : mistaken[i],
      ),
    );
    const confidence = ease.map((e) =>
      Math.max(1.2 / K, Math.min(0.999, 0.35 + 0.45 * e + 0.3 * progress * e + 0.05 * normal())),
    );
    const count = round === 0 ? null : Math.round(pictures * (0.64 + (0.36 * round) / total));
    const order = confidence.map((_, i) => i).sort((a, b) => confidence[b] - confidence[a]);
    const trusted = new Uint8Array(pictures);
    for (const i of order.slice(0, count ?? Math.round(pictures * 0.64))) trusted[i] = 1;
    const weights = skill.map(
      (_, j) => 0.5 + 0.1 * normal() * (1 - progress) + (1.6 * progress * (j + 0.3)) / sources,
    );
    rounds.push({round, progress, prediction, bySource, confidence, count, order, trusted, weights});
  }
  return {K, pictures, truth, mistaken, skill, spot, rounds, random};
}

/** Positions of `points` in a round: classes in a spiral, mistakes near the class they are confused with. */
export function positionsOf({K, truth, mistaken, spot}, {progress, prediction}, points) {
  const centre = Array.from({length: K}, (_, k) =>
    [Math.cos(k * 2.4) * Math.sqrt(k + 0.6), Math.sin(k * 2.4) * Math.sqrt(k + 0.6)].map((v) => v * 30),
  );
  const spread = 0.55 * (34 - 22 * progress);
  const xy = new Float32Array(2 * points.length);
  points.forEach((i, p) => {
    const [home, pull] = [centre[truth[i]], centre[mistaken[i]]];
    const part = prediction[i] === truth[i] ? 0.12 : 0.8;
    xy[2 * p] = (home[0] + (pull[0] - home[0]) * part + spread * spot[i][0]) * 0.8;
    xy[2 * p + 1] = home[1] + (pull[1] - home[1]) * part + spread * spot[i][1];
  });
  return xy;
}

/** The terms of the bound as in the program, with the capacity of linear classifiers on 64 features. */
export function boundOf({K, pictures, truth}, {prediction, bySource, order, trusted, progress}, labels) {
  const inside = order.filter((i) => trusted[i]);
  const differ = mean(bySource.map((said) => shareOf(inside, (i) => said[i] !== prediction[i])));
  const criteria = 0.12 * (1 - progress) + 0.004;
  const error = shareOf(inside, (i) => prediction[i] !== truth[i]);
  const nats = (share) => -Math.log(1 - share);
  const [mismatch, exact] = [nats((differ + criteria) / 2), nats(error)];
  const cap = Math.log(pictures / inside.length);
  const misalignment = cap * (0.35 + 0.4 * (1 - progress));
  const bias = (divergence) => Math.sqrt(divergence + misalignment) / Math.SQRT2;
  const variance = Math.sqrt((64 * K * Math.log(K) + Math.log(20)) / inside.length);
  return {
    mismatch,
    mismatch_exact: labels ? exact : null,
    misalignment,
    misalignment_error: 0.05 * misalignment,
    misalignment_sources: 0.6 * misalignment,
    misalignment_cap: cap,
    bias: bias(mismatch),
    variance,
    sum: bias(mismatch) + variance,
    sum_exact: labels ? bias(exact) + variance : null,
    loss_bound: 1,
    source_disagreement: differ,
    criteria_disagreement: criteria,
    label_error: labels ? error : null,
  };
}
