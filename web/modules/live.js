// The page of a run that still goes on: says so, and loads itself anew every few seconds where the reader left it.
import {chosen, choose} from './choices.js';
import {element} from './dom.js';

const EVERY = 3000; // milliseconds
const QUIET = 1500; // without a key or a click before the page reloads, so that nothing is torn from a reader's hands

/** @param {string} sentence */
export function liveBanner(sentence) {
  let paused = chosen('live-paused', false);
  const text = element('span', {role: 'status'});
  const button = element('button', {type: 'button', id: 'live-pause'});
  const say = () => {
    text.textContent = paused ? `${sentence} The page waits.` : `${sentence} The page renews itself every 3 s.`;
    button.textContent = paused ? 'Go on' : 'Wait';
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
    keepPlace();
    location.reload();
  }, EVERY);
  return element('div', {class: 'banner'}, element('span', {class: 'pulse', 'aria-hidden': 'true'}), text, button);
}

function keepPlace() {
  choose('reloaded', true);
  choose('scroll', [scrollX, scrollY]);
  choose('focus', document.activeElement?.id ?? '');
}

/** Goes back to where the reader was, if the page has just loaded itself anew. */
export function restorePlace() {
  if (!chosen('reloaded', false)) return;
  choose('reloaded', false);
  const [x, y] = chosen('scroll', [0, 0]);
  scrollTo({left: x, top: y, behavior: 'instant'});
  const id = chosen('focus', '');
  if (id) document.getElementById(id)?.focus({preventScroll: true});
}
