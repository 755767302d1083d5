// The page of a run in progress.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {readerTests} from './reader.mjs';

readerTests('a live page', ({look}) => {
  test('the page of a run in progress reloads and keeps the reader’s position', () =>
    look(
      'unfinished',
      async (page) => {
        assert.match(await page.locator('.banner').textContent(), /round 3 is the last/);
        await page.locator('#map-round').fill('1');
        await page.locator('#config-filter').fill('rate');
        await page.evaluate(() => {
          window.before = true;
          scrollTo({top: 1500, behavior: 'instant'});
        });
        await page.waitForFunction(() => !window.before && document.querySelector('.banner'), null, {timeout: 15000});
        await page.waitForTimeout(100);
        assert.equal(await page.evaluate(() => scrollY), 1500);
        assert.equal(await page.locator('#map-round').inputValue(), '1');
        assert.equal(await page.locator('#config-filter').inputValue(), 'rate');
        assert.equal(await page.evaluate(() => document.activeElement.id), 'config-filter');
        await page.locator('#live-pause').click();
        await page.evaluate(() => {
          window.before = true;
        });
        await page.waitForTimeout(4000);
        assert.equal(await page.evaluate(() => window.before), true);
      },
      {live: true},
    ));

  test('a finished run does not reload', () =>
    look(
      'labels',
      async (page) => {
        await page.evaluate(() => {
          window.before = true;
        });
        await page.waitForTimeout(4000);
        assert.equal(await page.evaluate(() => window.before), true);
        assert.equal(await page.locator('.banner').count(), 0);
      },
      {live: true},
    ));
});
