// The header of a run's page: sources, target and the main results.
import {onColours, seriesColour, styleColour} from './colours.js';
import {drawing, element} from './dom.js';
import {count, counted, known, listed, percent} from './format.js';
import {verdictPanel} from './verdict.js';

/** @typedef {import('./schema.js').Run} Run */
/** @typedef {{label: string, value: string[], sentence: string}} Fact  two values are first and last */

const STREAM_NAME = 14; // maximum length of a source's name
const STREAM_TARGET = 12; // maximum length of the target's name

/** @param {Run} run */
export function runHeader(run) {
  const facts = [accuracyFact(run), confidentFact(run), changedFact(run), weightFact(run), confidenceFact(run)];
  const shown = /** @type {Fact[]} */ (facts.filter((fact) => fact !== null)).slice(0, 4);
  return element(
    'header',
    {class: 'top', id: 'summary'},
    element(
      'div',
      {class: 'top-words'},
      element('p', {class: 'eyebrow'}, methodName(run)),
      element('h1', {}, run.name),
      element(
        'p',
        {class: 'lead'},
        `${counted(run.sources.length, kindOfSources(run))} ${deed(run)} ${counted(run.pictures, 'unlabelled picture')} ` +
          `of ${counted(run.classes.length, 'class', 'classes')}.`,
      ),
      element('p', {class: 'created'}, run.created),
    ),
    streams(run),
    verdictPanel(run),
    shown.length > 0 && element('dl', {class: 'facts'}, ...shown.map(factTile)),
    keptSentence(run),
    truthSentence(run),
  );
}

/** @param {Run} run */
function methodName({title, method}) {
  return title.toLowerCase() === method.toLowerCase() ? title : `${title} · ${method}`;
}

/**
 * Some sources may be scores, without a model.
 * @param {Run} run
 */
function kindOfSources(run) {
  return run.sources.some(({name}) => name.endsWith(' (scores)')) ? 'source' : 'model';
}

/**
 * What was done with the sources. A finished run without rounds of training only combines them.
 * @param {Run} run
 */
function deed(run) {
  const several = run.sources.length > 1;
  if (run.finished && run.rounds.length < 2) return several ? 'combined for' : 'applied to';
  return several ? 'adapted jointly to' : 'adapted to';
}

/** @param {Fact} fact */
function factTile(fact) {
  const value = element('dd', {class: 'value'}, fact.value[0]);
  if (fact.value.length > 1) {
    value.append(element('span', {class: 'arrow', 'aria-label': 'to'}, ' → '), element('strong', {}, fact.value[1]));
  }
  return element(
    'div',
    {class: 'fact'},
    element('dt', {}, fact.label),
    value,
    element('dd', {class: 'sentence'}, fact.sentence),
  );
}

/**
 * |w| normalised to sum one, as the mixture uses the weights.
 * @param {number[]} weights
 */
export function weightShares(weights) {
  const sum = weights.reduce((total, weight) => total + Math.abs(weight), 0);
  return weights.map((weight) => (sum > 0 ? Math.abs(weight) / sum : 0));
}

/**
 * The rounds up to the one whose model and predictions are the result.
 * @param {Run} run
 */
function resultRounds({rounds, kept}) {
  return kept ? rounds.filter(({round}) => round <= kept.round) : rounds;
}

/**
 * The weights of the result: those of the last round that has some.
 * @param {Run} run
 */
export function lastWeights(run) {
  const rounds = resultRounds(run);
  for (let i = rounds.length - 1; i >= 0; --i) {
    const weights = rounds[i].weights;
    if (weights) return weights;
  }
  return null;
}

/**
 * @param {Run} run
 * @returns {Fact | null}
 */
function accuracyFact(run) {
  const rounds = resultRounds(run);
  const values = known(rounds.map((round) => round.accuracy?.mixture));
  const held = known(rounds.map((round) => round.test_accuracy));
  const meaning = run.kept?.round === 0 ? 'Of the unadapted models.' : 'Before and after the adaptation.';
  if (values.length === 0 && held.length > 0)
    return {label: 'Accuracy on held-out pictures', value: firstAndLast(held, percent), sentence: meaning};
  if (values.length === 0) return null;
  const sentences = [];
  const sources = run.rounds[0]?.accuracy?.sources;
  if (sources && sources.length > 0) {
    const best = sources.indexOf(Math.max(...sources));
    sentences.push(`The best single source, ${run.sources[best]?.name ?? best}, started at ${percent(sources[best])}.`);
  }
  if (held.length > 0) sentences.push(`On held-out pictures ${percent(held[held.length - 1])}.`);
  return {
    label: 'Accuracy',
    value: firstAndLast(values, percent),
    sentence: sentences.join(' ') || meaning,
  };
}

/**
 * @param {Run} run
 * @returns {Fact | null}
 */
function confidentFact(run) {
  const values = known(run.rounds.map((round) => round.confident));
  if (values.length === 0) return null;
  const share = values[values.length - 1] / run.pictures;
  const rounds = counted(run.rounds[run.rounds.length - 1].round, 'round');
  return {
    label: 'Confident pictures',
    value: firstAndLast(values, count),
    sentence: `${share === 1 ? 'All' : `${percent(share)} of`} ${count(run.pictures)} were trained on after ${rounds}.`,
  };
}

/**
 * @param {Run} run
 * @returns {Fact | null}
 */
function changedFact(run) {
  const rounds = run.rounds.filter((round) => round.round > 0 && typeof round.changed === 'number');
  const [first, last] = [rounds[0], rounds[rounds.length - 1]];
  const later = first === last ? '' : `, ${count(last.changed ?? 0)} in round ${last.round}`;
  const changes = first
    ? `${count(first.changed ?? 0)} of ${count(run.pictures)} in round ${first.round}${later}.`
    : '';
  const total = changedInAll(run);
  if (total !== null) {
    return {
      label: 'Predictions changed',
      value: [count(total)],
      sentence: `${percent(total / run.pictures)} differ from before the adaptation. ${changes}`,
    };
  }
  if (!first) return null;
  return {
    label: 'Predictions changed per round',
    value: firstAndLast(
      rounds.map((round) => round.changed ?? 0),
      count,
    ),
    sentence: changes,
  };
}

/**
 * Number of predictions that differ from those before the adaptation; null if unknown.
 * @param {Run} run
 */
export function changedInAll(run) {
  if (run.labels || !run.confusion || run.confusion.before) return null;
  if (run.confusion.changed !== undefined) return run.confusion.changed;
  let changed = 0;
  run.confusion.after.forEach((row, i) =>
    row.forEach((cell, j) => {
      changed += i === j ? 0 : cell;
    }),
  );
  return changed;
}

/**
 * @param {Run} run
 * @returns {Fact | null}
 */
function weightFact(run) {
  const [first, last] = [run.rounds.find((round) => round.weights)?.weights, lastWeights(run)];
  if (!first || !last || last.length < 2) return null;
  const [before, after] = [weightShares(first), weightShares(last)];
  const order = after.map((_, index) => index).sort((a, b) => after[b] - after[a]);
  const name = (/** @type {number} */ index) => run.sources[index]?.name ?? String(index);
  const others = order.slice(1, 4).map((index) => `${name(index)} ${percent(after[index], 0)}`);
  return {
    label: `Largest weight: ${name(order[0])}`,
    value: [percent(before[order[0]], 0), percent(after[order[0]], 0)],
    sentence: `Then ${listed(others)}${order.length > 4 ? ', and less for the others' : ''}.`,
  };
}

/**
 * @param {Run} run
 * @returns {Fact | null}
 */
function confidenceFact(run) {
  if (run.confidence?.calibrated)
    return {
      label: 'Mean confidence',
      value: [percent(run.confidence.mean / 100)],
      sentence: 'Of the predicted class, calibrated: the share that is probably right.',
    };
  const values = known(resultRounds(run).map((round) => round.mean_confidence));
  if (values.length === 0) return null;
  return {
    label: 'Mean confidence',
    value: firstAndLast(values, percent),
    sentence: 'Confidence of the predicted class.',
  };
}

/**
 * @param {number[]} values
 * @param {(value: number) => string} format
 */
function firstAndLast(values, format) {
  const [first, last] = [format(values[0]), format(values[values.length - 1])];
  return values.length > 1 ? [first, last] : [first];
}

/** @param {Run} run */
function keptSentence({kept}) {
  if (!kept) return null;
  const before = kept.round === 0 ? ', before any training,' : '';
  return element('p', {class: 'truth kept'}, `This is the result of round ${kept.round}${before} because ${kept.reason}.`);
}

/** @param {Run} run */
function truthSentence(run) {
  if (!run.labels && run.rounds.some((round) => typeof round.test_accuracy === 'number')) {
    return element(
      'p',
      {class: 'truth'},
      'Accuracy is measured on held-out pictures',
      run.test && ', ',
      run.test && element('code', {}, run.test),
      '; the labels of the target are unknown.',
    );
  }
  if (!run.labels) {
    return element(
      'p',
      {class: 'truth'},
      'The labels of these pictures are unknown, so this page shows no accuracy.',
    );
  }
  const use = run.method.includes('oracle') ? 'the oracle selects with them' : 'the adaptation never saw them';
  return element(
    'p',
    {class: 'truth'},
    'Accuracy is measured with the labels of ',
    element('code', {}, run.labels),
    `; ${use}.`,
  );
}

/**
 * Draws the sources as streams that join, with widths proportional to their weights.
 * @param {Run} run
 */
function streams(run) {
  const weights = lastWeights(run);
  const many = run.sources.length;
  const shares = weights ? weightShares(weights) : run.sources.map(() => 1 / Math.max(1, many));
  const longest = Math.max(...run.sources.map(({name}) => Math.min(name.length, STREAM_NAME)), 0);
  const labels = 24 + 8.6 * longest + (weights ? 44 : 0);
  const mouth = labels + (innerWidth < 600 ? 110 : 186);
  const bank = mouth + 52; // end of the river
  const width = bank + 36 + 9.6 * Math.min(run.name.length, STREAM_TARGET);
  const [rowHeight, river] = [Math.max(26, Math.min(46, 230 / Math.max(1, many))), 56];
  const height = Math.max(many * rowHeight, river + 24);
  const spoken = run.sources.map((source, index) =>
    weights ? `${source.name} ${percent(shares[index], 0)}` : source.name,
  );
  const picture = drawing('svg', {
    class: 'streams',
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': `${listed(spoken)} flow into ${run.name}.`,
  });
  const defs = drawing('defs');
  picture.append(defs);

  let joined = (height - river) / 2;
  run.sources.forEach((source, index) => {
    const thick = Math.max(1.5, shares[index] * river);
    const centre = (height - many * rowHeight) / 2 + (index + 0.5) * rowHeight;
    const [top, bottom, middle] = [centre - thick / 2, centre + thick / 2, (labels + mouth) / 2];
    const [start, end] = [drawing('stop', {offset: 0}), drawing('stop', {offset: 1})];
    defs.append(
      drawing(
        'linearGradient',
        {id: `stream-${index}`, gradientUnits: 'userSpaceOnUse', x1: labels, x2: mouth + 30, y1: 0, y2: 0},
        start,
        end,
      ),
    );
    const paint = () => {
      start.setAttribute('stop-color', seriesColour(index));
      end.setAttribute('stop-color', styleColour('accent'));
    };
    paint();
    onColours(paint);
    picture.append(
      drawing('path', {
        fill: `url(#stream-${index})`,
        d:
          `M${labels} ${top} C${middle} ${top} ${middle} ${joined} ${mouth} ${joined} H${bank} ` +
          `V${joined + thick + 0.4} H${mouth} C${middle} ${joined + thick} ${middle} ${bottom} ${labels} ${bottom} Z`,
      }),
      drawing(
        'text',
        {x: labels - 14, y: centre + 5, 'text-anchor': 'end'},
        drawing('title', {}, source.name),
        shortened(source.name, STREAM_NAME),
        weights && drawing('tspan', {class: 'stream-share', dx: 8}, percent(shares[index], 0)),
      ),
    );
    joined += shares[index] * river;
  });
  const centreLine = height / 2;
  picture.append(
    drawing('path', {
      class: 'stream-end',
      d: `M${bank - 0.5} ${centreLine - river / 2} l20 ${river / 2} l-20 ${river / 2} Z`,
    }),
  );
  picture.append(
    drawing(
      'text',
      {class: 'stream-target', x: bank + 28, y: centreLine + 5},
      drawing('title', {}, run.name),
      shortened(run.name, STREAM_TARGET),
    ),
  );
  return picture;
}

/**
 * @param {string} text
 * @param {number} length
 */
export function shortened(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
