// Setup of the run: command, configuration, versions, times and notes.
import {chartFigure} from './charts.js';
import {absent, element, section} from './dom.js';
import {duration, percent, titled} from './format.js';
import {sortableTable} from './tables.js';

/** @typedef {import('./schema.js').Run} Run */
/** @typedef {import('./schema.js').Benchmark} Benchmark */

/** @param {Run} run */
export function setupSection(run) {
  return section(
    'setup',
    'Setup',
    null,
    ...commandBox(run.command),
    timings(run),
    configTable(run.config),
    versionsList(run.versions),
    ...notesList(run.notes ?? []),
  );
}

/** @param {Benchmark} benchmark */
export function benchmarkSetupSection(benchmark) {
  return section(
    'setup',
    'Setup',
    null,
    ...commandBox(benchmark.command),
    versionsList(benchmark.versions),
  );
}

/** @param {string} command */
function commandBox(command) {
  const status = element('span', {class: 'shown', role: 'status'});
  // One span per word, because browsers would break lines after each hyphen.
  const words = command.split(/(\s+)/).map((word) => (word.trim() ? element('span', {}, word) : word));
  const text = element('code', {}, ...words);
  const copy = async () => {
    status.textContent = (await copied(command, text)) ? 'copied' : 'could not copy; the text is selected';
    setTimeout(() => {
      status.textContent = '';
    }, 3000);
  };
  return [
    element('h3', {}, 'Command to reproduce it'),
    element(
      'div',
      {class: 'command'},
      element('pre', {tabindex: 0}, text),
      element('button', {type: 'button', class: 'copy', onclick: copy}, 'Copy'),
      status,
    ),
  ];
}

/**
 * @param {string} text
 * @param {HTMLElement} shown  the element with the text
 */
async function copied(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Local files may lack the clipboard API: fall back to execCommand; if that fails, the text stays selected.
    const range = document.createRange();
    range.selectNodeContents(shown);
    const marked = getSelection();
    marked?.removeAllRanges();
    marked?.addRange(range);
    return document.execCommand('copy');
  }
}

/** @param {Run} run */
function timings(run) {
  const rounds = run.rounds.filter((round) => round.phases && Object.keys(round.phases).length > 0);
  if (rounds.length === 0) return absent('The time per phase was not recorded.');
  const phases = [...new Set(rounds.flatMap((round) => Object.keys(round.phases ?? {})))];
  const sums = phases.map((phase) => rounds.reduce((sum, round) => sum + (round.phases?.[phase] ?? 0), 0));
  const whole = rounds.reduce((sum, round) => sum + (round.seconds ?? 0), 0);
  const total = Math.max(
    whole,
    sums.reduce((sum, seconds) => sum + seconds, 0),
  );
  const longest = sums.indexOf(Math.max(...sums));
  const share = percent(total > 0 ? sums[longest] / total : 0, 0);
  return element(
    'div',
    {class: 'charts'},
    chartFigure({
      id: 'timings',
      type: 'bar',
      width: 'wide',
      stacked: true,
      title: 'Time',
      categoryTitle: 'round',
      categories: rounds.map((round) => round.round),
      note: `${duration(total)} in all rounds, of which ${phases[longest].replace(/_/g, ' ')} took ${share}.`,
      series: phases.map((phase, index) => ({
        name: titled(phase).toLowerCase(),
        colour: index,
        values: rounds.map((round) => round.phases?.[phase] ?? null),
      })),
      valuesTitle: 'seconds',
      format: duration,
      tick: (value) => String(value),
    }),
  );
}

/** @param {[string, string][]} config */
function configTable(config) {
  const title = element('h3', {}, 'Configuration');
  if (config.length === 0) return element('div', {}, title, absent('No configuration was recorded.'));
  return element(
    'div',
    {},
    title,
    sortableTable({
      id: 'config',
      kind: 'options',
      caption: 'Configuration',
      rows: config,
      searched: ([key, value]) => `${key} ${value}`,
      columns: [
        {name: 'Option', value: ([key]) => key, cell: ([key]) => element('code', {}, key)},
        {name: 'Value', value: ([, value]) => value, cell: ([, value]) => element('code', {}, value)},
      ],
    }),
  );
}

/** @param {[string, string][]} versions */
function versionsList(versions) {
  return element(
    'div',
    {},
    element('h3', {}, 'Versions'),
    element(
      'dl',
      {class: 'versions'},
      ...versions.map(([name, version]) => element('div', {}, element('dt', {}, name), element('dd', {}, version))),
    ),
  );
}

/** @param {string[]} notes */
function notesList(notes) {
  if (notes.length === 0) return [];
  return [
    element('h3', {}, 'Notes'),
    element('ul', {class: 'remarks'}, ...notes.map((note) => element('li', {}, note))),
  ];
}
