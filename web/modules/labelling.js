// The page for labelling pictures: one picture at a time, with the keyboard or the mouse, saved as a CSV file.
import {chosen, choose} from './choices.js';
import {element, searchField, section} from './dom.js';
import {count, counted} from './format.js';
import {thumbnail} from './gallery.js';

/** @typedef {import('./schema.js').Labelling} Labelling */

const KEYS = '1234567890'; // of the first ten classes
const MOST_ANSWERS = 200; // shown at once

/** @param {Labelling} task */
export function labellingHeader(task) {
  return element(
    'header',
    {class: 'top', id: 'summary'},
    element(
      'div',
      {class: 'top-words'},
      element('p', {class: 'eyebrow'}, task.audit ? 'Audit' : 'Labels'),
      element('h1', {}, task.name),
      element(
        'p',
        {class: 'lead'},
        task.audit
          ? `${counted(task.pictures.length, 'picture')}, drawn at random: their labels measure the accuracy.`
          : `${counted(task.pictures.length, 'picture')} whose labels help the model most.`,
      ),
      element('p', {class: 'created'}, task.created),
    ),
  );
}

/**
 * The file with these labels, "" for pictures without one. The program wrote all cells, so that names with commas or
 * quotes stay as they are.
 * @param {Labelling} task
 * @param {string[]} labels
 */
export function labelFile(task, labels) {
  const cell = new Map(task.classes.map((name, index) => [name, task.class_cells[index]]));
  const rows = task.pictures.map(({cells}, index) => `${cells[0]},${cell.get(labels[index]) ?? ''},${cells[1]}\n`);
  return `picture,label,drawn\n${rows.join('')}`;
}

/**
 * The labels that this browser tab remembers, by picture: a page that is written again may have other ones.
 * @param {Labelling} task
 * @param {Map<string, number>} numbers  of the classes
 */
function storedLabels(task, numbers) {
  const stored = chosen('labels', /** @type {string[]} */ ([]));
  const remembered = new Map(stored.map((text) => /** @type {[string, string]} */ (text.split('\n'))));
  return task.pictures.map(({path, label}) => {
    const own = remembered.get(path) ?? '';
    return numbers.has(own) ? own : label;
  });
}

/**
 * @param {Labelling} task
 * @param {string[]} labels
 */
function storeLabels(task, labels) {
  choose('labels', task.pictures.flatMap(({path}, index) => (labels[index] ? [`${path}\n${labels[index]}`] : [])));
}

/** @param {Labelling} task */
export function labellingSection(task) {
  const numbers = new Map(task.classes.map((name, index) => [name, index]));
  const labels = storedLabels(task, numbers);
  let at = Math.max(0, labels.indexOf(''));

  const position = element('h3', {id: 'position', tabindex: -1});
  const picture = element('div', {class: 'labelled-picture'});
  const path = element('p', {class: 'path'});
  const guess = element('p', {class: 'guess'});
  const answers = element('fieldset', {class: 'answers'});
  const done = element('p', {class: 'shown', role: 'status'});
  const find = searchField({
    id: 'find',
    label: 'Find a class (Enter takes the first)',
    value: '',
    oninput: () => showAnswers(),
  });
  const input = /** @type {HTMLInputElement} */ (find.querySelector('input'));
  find.hidden = task.classes.length <= KEYS.length;

  const wanted = () => {
    const text = input.value.trim().toLowerCase();
    return task.classes.filter((name) => name.toLowerCase().includes(text));
  };
  const showAnswers = () => {
    const legend = element('legend', {}, `Class of picture ${at + 1}`);
    const names = wanted();
    const shown = names.slice(0, MOST_ANSWERS);
    if (labels[at] && names.includes(labels[at]) && !shown.includes(labels[at])) shown.unshift(labels[at]);
    const more = names.length > shown.length && element('p', {class: 'more'}, `${count(names.length - shown.length)} more: type a part of the name`);
    answers.replaceChildren(legend, ...shown.map((name) => answer(name)), ...(more ? [more] : []));
  };
  /** @param {string} name */
  const answer = (name) => {
    const index = numbers.get(name) ?? 0, id = `class-${index}`;
    const radio = element('input', {type: 'radio', name: 'answer', id, value: name, autocomplete: 'off'});
    radio.checked = labels[at] === name;
    radio.addEventListener('change', () => give(name, false));
    const key = index < KEYS.length ? element('kbd', {}, KEYS[index]) : null;
    return element('label', {class: 'answer', for: id}, radio, element('span', {}, name), key);
  };
  /** @param {number} index */
  const show = (index) => {
    at = Math.min(Math.max(index, 0), task.pictures.length - 1);
    const {path: name, guess: model} = task.pictures[at];
    position.textContent = `Picture ${at + 1} of ${task.pictures.length}`;
    picture.replaceChildren(thumbnail(task.pictures[at]));
    path.textContent = name;
    guess.textContent = model === undefined ? '' : `The model says ${model}.`;
    input.value = '';
    showAnswers();
    showCount();
    previous.disabled = at === 0;
    next.disabled = at === task.pictures.length - 1;
  };
  const showCount = () => {
    const given = labels.filter((label) => label !== '').length;
    done.textContent = `${given} of ${counted(task.pictures.length, 'picture')} labelled`;
    save.disabled = given === 0;
  };
  /**
   * @param {string} name
   * @param {boolean} goOn  to the next picture, as after a key
   */
  const give = (name, goOn) => {
    labels[at] = name;
    storeLabels(task, labels);
    if (goOn && at + 1 < task.pictures.length) {
      show(at + 1);
      position.focus();
    } else {
      showAnswers();
      document.getElementById(`class-${numbers.get(name)}`)?.focus();
      showCount();
    }
  };
  /**
   * @param {string} text
   * @param {() => void} onclick
   */
  const button = (text, onclick) => element('button', {type: 'button', onclick}, text);
  const previous = button('← Previous', () => show(at - 1));
  const next = button('Next →', () => show(at + 1));
  const clear = button('No label', () => {
    labels[at] = '';
    storeLabels(task, labels);
    showAnswers();
    showCount();
  });
  const save = button(`Save ${task.file}`, () => {
    const file = new Blob([labelFile(task, labels)], {type: 'text/csv'});
    const link = element('a', {href: URL.createObjectURL(file), download: task.file});
    link.click();
    URL.revokeObjectURL(link.href);
  });
  save.className = 'save';

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target === input;
    if (typing && event.key === 'Enter' && wanted().length > 0) give(wanted()[0], true);
    else if (typing || (event.target instanceof HTMLInputElement && event.key.startsWith('Arrow'))) return;
    else if (event.key === 'ArrowLeft') show(at - 1);
    else if (event.key === 'ArrowRight') show(at + 1);
    else if (KEYS.includes(event.key) && KEYS.indexOf(event.key) < task.classes.length)
      give(task.classes[KEYS.indexOf(event.key)], true);
    else return;
    event.preventDefault();
  });
  show(at);
  return section(
    'labelling',
    'Labelling',
    'Press the key of the class, or choose it. The arrow keys go to other pictures. Save the file when you are done, in ' +
      'place of the one beside this page; labels that are not saved stay in this browser tab only.',
    element(
      'div',
      {class: 'labelling'},
      element('div', {class: 'labelled'}, position, picture, path, guess),
      element('div', {class: 'labels'}, find, answers),
    ),
    element('div', {class: 'controls'}, previous, next, clear, save, done),
  );
}
