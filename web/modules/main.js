// Builds the page from its data: lists all sections in their order.
import {benchmarkHeader, benchmarkSections} from './benchmark.js';
import {boundSection} from './bound.js';
import {drawCharts} from './charts.js';
import {chosen, choose} from './choices.js';
import {classesSection} from './classes.js';
import {askTheme, onColours, theme} from './colours.js';
import {confusionSection} from './confusion.js';
import {absent, element, visibleText} from './dom.js';
import {gallerySection} from './gallery.js';
import {liveBanner, restorePosition} from './live.js';
import {labellingHeader, labellingSection} from './labelling.js';
import {lossesSection} from './losses.js';
import {mapSection} from './map.js';
import {predictionsSection, selectionSection, weightsSection} from './rounds.js';
import {benchmarkSetupSection, setupSection} from './setup.js';
import {runHeader} from './summary.js';

/** @typedef {import('./schema.js').Run} Run */
/** @typedef {import('./schema.js').Benchmark} Benchmark */
/** @typedef {import('./schema.js').Labelling} Labelling */

const RUN_SECTIONS = [
  weightsSection,
  selectionSection,
  predictionsSection,
  lossesSection,
  boundSection,
  classesSection,
  confusionSection,
  mapSection,
  gallerySection,
  setupSection,
];

showPage();

function showPage() {
  askTheme(chosen('theme', ''));
  const page = /** @type {HTMLElement} */ (document.getElementById('page'));
  /** @type {Run | Benchmark | Labelling} */
  let data;
  try {
    data = JSON.parse(document.getElementById('data')?.textContent ?? '');
    if (data.schema !== 1 || !['run', 'table', 'labels'].includes(data.kind))
      throw new Error(`schema ${data.schema}, kind ${data.kind}`);
  } catch (error) {
    page.append(
      element(
        'main',
        {class: 'broken'},
        element('h1', {}, 'This report cannot be shown'),
        absent(
          `The page cannot read its data (${/** @type {Error} */ (error).message}). ` +
            'Make the report again with the same version of tributary.',
        ),
      ),
    );
    return;
  }
  const live = 'finished' in data && data.finished === false;
  const [header, sections] =
    data.kind === 'run' ? runPage(data) : data.kind === 'table' ? benchmarkPage(data) : labellingPage(data);
  document.title = `${visibleText(data.name)} · Tributary`;
  page.append(
    topBar(data.name, sections),
    element('main', {id: 'content'}, live && liveBanner(liveSentence(data)), header, ...sections),
    footer(data),
  );
  drawCharts();
  restorePosition();
}

/**
 * @param {Run} run
 * @returns {[HTMLElement, HTMLElement[]]}
 */
function runPage(run) {
  return [runHeader(run), RUN_SECTIONS.map((make) => guarded(() => make(run)))];
}

/**
 * @param {Benchmark} benchmark
 * @returns {[HTMLElement, HTMLElement[]]}
 */
function benchmarkPage(benchmark) {
  return [benchmarkHeader(benchmark), [...benchmarkSections(benchmark), benchmarkSetupSection(benchmark)]];
}

/**
 * @param {Labelling} task
 * @returns {[HTMLElement, HTMLElement[]]}
 */
function labellingPage(task) {
  return [labellingHeader(task), [labellingSection(task)]];
}

/**
 * Builds a section; if that fails, returns a message instead, so that the other sections still appear.
 * @param {() => HTMLElement} make
 */
function guarded(make) {
  try {
    return make();
  } catch (error) {
    console.error(error);
    return element(
      'section',
      {class: 'failed'},
      absent(`A section of this report could not be shown (${/** @type {Error} */ (error).message}).`),
    );
  }
}

/** @param {Run | Benchmark | Labelling} data */
function liveSentence(data) {
  if (data.kind !== 'run' || data.rounds.length === 0) return 'The run is in progress.';
  return `The run is in progress: round ${data.rounds[data.rounds.length - 1].round} is the last finished round.`;
}

/**
 * @param {string} name
 * @param {HTMLElement[]} sections
 */
function topBar(name, sections) {
  const links = sections
    .filter((part) => part.id)
    .map((part) =>
      element('a', {href: `#${part.id}`}, part.dataset.short ?? part.querySelector('h2')?.textContent ?? part.id),
    );
  const bar = element(
    'nav',
    {class: 'bar', 'aria-label': 'Sections of this report'},
    element('a', {class: 'home', href: '#summary'}, name),
    element('div', {class: 'links'}, ...links),
    themeButton(),
  );
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links) {
          if (link.hash === `#${entry.target.id}`) link.setAttribute('aria-current', 'true');
          else link.removeAttribute('aria-current');
        }
      }
    },
    {rootMargin: '-20% 0px -70% 0px'},
  );
  for (const part of sections) seen.observe(part);
  return element('div', {class: 'bar-place'}, element('a', {class: 'skip', href: '#content'}, 'Skip to content'), bar);
}

function themeButton() {
  const button = element('button', {type: 'button', class: 'theme', id: 'theme'});
  const say = () => {
    button.textContent = theme() === 'dark' ? '☀' : '☾';
    button.setAttribute('aria-label', theme() === 'dark' ? 'Light colours' : 'Dark colours');
    button.title = theme() === 'dark' ? 'Light colours' : 'Dark colours';
  };
  button.addEventListener('click', () => {
    const other = theme() === 'dark' ? 'light' : 'dark';
    choose('theme', other);
    askTheme(other);
  });
  say();
  onColours(say);
  return button;
}

/** @param {Run | Benchmark | Labelling} data */
function footer(data) {
  const version = data.versions.find(([name]) => name === 'tributary')?.[1];
  return element(
    'footer',
    {},
    `Made by tributary${version ? ` ${version}` : ''}, ${data.created}. The page is self-contained and makes ` +
      'no network requests. Charts: Chart.js (MIT licence).',
  );
}
