// Gallery of pictures and their predictions: most confident, least confident, and changed.
import {chosen, choose} from './choices.js';
import {absent, element, section, segments, selection} from './dom.js';
import {count, counted, percent} from './format.js';
import {shareBar} from './tables.js';

/** @typedef {import('./schema.js').Run} Run */
/** @typedef {import('./schema.js').Picture} Picture */
/** @typedef {import('./schema.js').GalleryGroup} GalleryGroup */

const PAGE = innerWidth < 600 ? 8 : 24; // pictures shown at once

/** @type {[GalleryGroup, string][]} */
const GROUPS = [
  ['most_confident', 'Most confident'],
  ['least_confident', 'Least confident'],
  ['changed', 'Changed'],
];

/**
 * The thumbnail. Shows data: addresses only, whatever the data says.
 * @param {{thumb: string}} picture
 */
export function thumbnail(picture) {
  if (!/^data:image\/(png|jpeg|webp);base64,[A-Za-z0-9+/=]+$/.test(picture.thumb))
    return element('span', {class: 'thumb none'}, 'no picture');
  return element('img', {class: 'thumb', src: picture.thumb, alt: '', decoding: 'async'});
}

/** @param {Run} run */
export function gallerySection(run) {
  const groups = GROUPS.filter(([group]) => (run.gallery?.[group]?.length ?? 0) > 0);
  if (groups.length === 0) return section('pictures', 'Pictures', null, absent('This report has no pictures.'));
  const filter = {group: chosen('gallery-group', groups[0][0]), label: chosen('gallery-class', 'all')};
  if (!groups.some(([group]) => group === filter.group)) filter.group = groups[0][0];
  let limit = PAGE;

  const wordy =
    [...run.classes, ...run.sources.map(({name}) => name)].some((name) => name.length > 11) ||
    run.classes.some((name) => name.length > 6);
  const grid = element('ul', {class: wordy ? 'gallery wordy' : 'gallery'});
  const shown = element('p', {class: 'shown', role: 'status'});
  const more = element(
    'button',
    {
      type: 'button',
      class: 'more',
      onclick: () => {
        limit += PAGE;
        render();
      },
    },
    'Show more',
  );
  const labels = element('div', {class: 'gallery-class'});

  const render = () => {
    const all = run.gallery?.[/** @type {GalleryGroup} */ (filter.group)] ?? [];
    const present = [...new Set(all.map((picture) => picture.prediction))].sort((a, b) => a - b);
    if (filter.label !== 'all' && !present.includes(Number(filter.label))) filter.label = 'all';
    const wanted = filter.label === 'all' ? all : all.filter((picture) => picture.prediction === Number(filter.label));
    grid.replaceChildren(...wanted.slice(0, limit).map((picture) => card(run, picture)));
    const rest = wanted.length > limit ? ` of ${count(wanted.length)}` : '';
    shown.textContent = `${counted(Math.min(limit, wanted.length), 'picture')}${rest}`;
    more.hidden = wanted.length <= limit;
    labels.replaceChildren(
      selection({
        id: 'gallery-class',
        label: 'Predicted as',
        value: filter.label,
        options: [
          ['all', 'any class'],
          .../** @type {[string, string][]} */ (present.map((index) => [String(index), className(run, index)])),
        ],
        onchange: (value) => {
          filter.label = value;
          limit = PAGE;
          choose('gallery-class', value);
          render();
          document.getElementById('gallery-class')?.focus();
        },
      }),
    );
  };
  const choice = segments({
    name: 'gallery-group',
    label: 'Show',
    options: groups,
    value: /** @type {GalleryGroup} */ (filter.group),
    onchange: (value) => {
      filter.group = value;
      limit = PAGE;
      choose('gallery-group', value);
      render();
    },
  });
  render();
  return section(
    'pictures',
    'Pictures',
    'Single pictures with the mixture’s prediction, its prediction before the adaptation, and that of each source.',
    element('div', {class: 'controls'}, choice, labels, shown),
    grid,
    more,
  );
}

/**
 * @param {Run} run
 * @param {number | null | undefined} index
 */
function className(run, index) {
  if (index === null || index === undefined || index < 0) return 'unknown';
  return run.classes[index] ?? `class ${index}`;
}

/**
 * @param {Run} run
 * @param {Picture} picture
 */
function card(run, picture) {
  const {prediction, before, truth} = picture;
  const judged = typeof truth === 'number';
  const lines = element('dl', {});
  const line = (/** @type {string} */ term, /** @type {import('./dom.js').Child[]} */ ...text) =>
    lines.append(element('dt', {}, term), element('dd', {}, ...text));
  line('Confidence', shareBar(picture.confidence, percent(picture.confidence)));
  if (typeof before === 'number') line('Before', before === prediction ? 'same' : className(run, before));
  if (judged) line('Truth', className(run, truth));
  const head = element(
    'p',
    {class: 'predicted'},
    element('strong', {}, className(run, prediction)),
    judged &&
      element(
        'span',
        {class: prediction === truth ? 'verdict right' : 'verdict wrong'},
        prediction === truth ? '✓ correct' : '✗ wrong',
      ),
  );
  const sources =
    picture.sources &&
    element(
      'ul',
      {class: 'votes', 'aria-label': 'Prediction of each source'},
      ...picture.sources.map((predicted, index) =>
        element(
          'li',
          {class: predicted === prediction ? 'agrees' : 'differs'},
          element('span', {}, run.sources[index]?.name ?? `source ${index + 1}`),
          element('b', {}, className(run, predicted)),
        ),
      ),
    );
  return element(
    'li',
    {class: 'picture'},
    element('div', {class: 'picture-top'}, thumbnail(picture), element('div', {}, head, lines)),
    sources,
    element('p', {class: 'path', title: picture.path}, picture.path),
  );
}
