// Keyboard and screen-reader access.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {readerTests} from './reader.mjs';

readerTests('the keyboard', ({look}) => {
  test('Tab reaches every control, and the focus is visible', () =>
    look('labels', async (page) => {
      const reached = new Set();
      let unseen = 0;
      for (let i = 0; i < 220; ++i) {
        await page.keyboard.press('Tab');
        const at = await page.evaluate(() => {
          const now = document.activeElement;
          if (!now || now === document.body) return null;
          const shown = now.matches('.segments input') ? now.nextElementSibling : now;
          const {outlineStyle, outlineWidth} = getComputedStyle(shown);
          return {
            name: now.name || now.id || now.className || now.textContent,
            seen: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1,
          };
        });
        if (!at) break;
        reached.add(at.name);
        unseen += Number(!at.seen);
      }
      for (const name of [
        'skip',
        'theme',
        'weights-view',
        'confusion-moment',
        'confusion-unit',
        'map-colour',
        'map-round',
        'play',
        'map-canvas',
        'gallery-group',
        'gallery-class',
        'more',
        'copy',
        'config-filter',
      ]) {
        assert.ok(reached.has(name), `${name} is not reached; reached: ${[...reached].join(', ')}`);
      }
      assert.equal(unseen, 0);
    }));

  test('every field, button and image has an accessible name', () =>
    look('labels', async (page) => {
      const nameless = await page.evaluate(() =>
        [...document.querySelectorAll('button, input, select, canvas, [role=region], svg[role=img]')]
          .filter((part) => {
            const label =
              part.getAttribute('aria-label') ||
              part.textContent.trim() ||
              (part.labels && part.labels[0]?.textContent.trim());
            return !label;
          })
          .map((part) => part.outerHTML.slice(0, 80)),
      );
      assert.deepEqual(nameless, []);
      const ids = await page.evaluate(() => [...document.querySelectorAll('[id]')].map((part) => part.id));
      assert.equal(new Set(ids).size, ids.length);
    }));
});
