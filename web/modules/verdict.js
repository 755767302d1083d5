// The verdict on a run, in words for readers who know no machine learning.
import {element} from './dom.js';
import {count, counted, listed} from './format.js';

/** @typedef {import('./schema.js').Run} Run */

const HEADINGS = {
  use: 'This result can be used',
  check: 'Check this result before you use it',
  'do not use': 'Do not use this result',
};
const MOST_CLASSES = 5; // named as doubtful

/**
 * Null for runs of older versions.
 * @param {Run} run
 */
export function verdictPanel(run) {
  const {verdict} = run;
  if (!verdict) return null;
  return element(
    'section',
    {class: `verdict-panel ${verdict.decision.replaceAll(' ', '-')}`, id: 'verdict', 'aria-labelledby': 'verdict-title'},
    element('h2', {id: 'verdict-title'}, HEADINGS[verdict.decision] ?? verdict.decision),
    element('p', {class: 'probably'}, probably(run)),
    element('ul', {class: 'reasons'}, ...verdict.reasons.map((reason) => element('li', {}, `${capital(reason)}.`))),
    advice(run).map((sentence) => element('p', {}, sentence)).reduce(appended, document.createDocumentFragment()),
    verdict.unadapted_model &&
      element('p', {}, 'The models as they were before are probably better: ', element('code', {}, verdict.unadapted_model)),
    element(
      'p',
      {class: 'limits'},
      'Estimated without labels. Errors that all models share cannot be seen; to be sure, look at some pictures chosen at random.',
    ),
  );
}

/**
 * "Probably right in about 9 of 10 pictures (between 86 and 93 of 100)."
 * @param {Run} run
 */
function probably({estimate}) {
  const after = estimate?.after;
  if (!after) return 'How many predictions are right is unknown.';
  const before = estimate.before ? `; before the adaptation it was about ${Math.round(estimate.before.accuracy)}` : '';
  return (
    `Probably right in about ${Math.round(after.accuracy)} of 100 pictures ` +
    `(between ${Math.round(after.low)} and ${Math.round(after.high)})${before}.`
  );
}

/**
 * What to look at first.
 * @param {Run} run
 */
function advice({confidence, estimate}) {
  const sentences = [];
  if (confidence?.calibrated && confidence.check > 0) {
    const rest = confidence.accepted > 0 ? ` Of the other ${count(confidence.accepted)}, about ${confidence.accept_error} in 100 are wrong.` : '';
    sentences.push(`Look at ${counted(confidence.check, 'picture')} first: those with “yes” in the column check of predictions.csv.${rest}`);
  }
  const average = estimate?.after?.accuracy ?? 0;
  const doubtful = (estimate?.classes ?? [])
    .filter(({pictures, right}) => pictures > 0 && typeof right === 'number' && right < average - 10)
    .sort((a, b) => (a.right ?? 0) - (b.right ?? 0))
    .slice(0, MOST_CLASSES);
  if (doubtful.length > 0)
    sentences.push(
      `Distrust ${doubtful.length === 1 ? 'the class' : 'the classes'} ` +
        `${listed(doubtful.map(({class: name, right}) => `${name} (about ${Math.round(right ?? 0)} of 100 right)`))}.`,
    );
  return sentences;
}

/** @param {string} text */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * @param {DocumentFragment} all
 * @param {Node} next
 */
function appended(all, next) {
  all.append(next);
  return all;
}
