// The banner of an unfinished run, and the periodic reload that preserves the reader's position.
import {chosen, choose} from './choices.js';
import {element} from './dom.js';

const EVERY = 3000; // milliseconds
const QUIET = 1500; // milliseconds without input before a reload, so that it does not interrupt the reader

/** @param {string} sentence */
export function liveBanner(sentence) {
  let paused = chosen('live-paused', false);
  const text = element('span', {role: 'status'});
  const button = element('button', {type: 'button', id: 'live-pause'});
  const say = () => {
    text.textContent = paused ? `${sentence} Reloading is paused.` : `${sentence} The page reloads every 3 s.`;
    button.textContent = paused ? 'Resume' : 'Pause';
  };
  button.addEventListener('click', () => {
    paused = !paused;
    choose('live-paused', paused);
    say();
  });
  say();
  let touched = -Infinity;
  for (const kind of ['keydown', 'pointerdown', 'input']) addEventListener(kind, () => (touched = performance.now()));
  setInterval(() => {
    if (paused || document.hidden || matchMedia('print').matches || performance.now() - touched < QUIET) return;
    savePosition();
    location.reload();
  }, EVERY);
  return element('div', {class: 'banner'}, element('span', {class: 'pulse', 'aria-hidden': 'true'}), text, button);
}

function savePosition() {
  choose('reloaded', true);
  choose('scroll', [scrollX, scrollY]);
  choose('focus', document.activeElement?.id ?? '');
}

/** Restores scroll position and focus after an automatic reload. */
export function restorePosition() {
  if (!chosen('reloaded', false)) return;
  choose('reloaded', false);
  const [x, y] = chosen('scroll', [0, 0]);
  scrollTo({left: x, top: y, behavior: 'instant'});
  const id = chosen('focus', '');
  if (id) document.getElementById(id)?.focus({preventScroll: true});
}
