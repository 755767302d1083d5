// The gallery of pictures.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {readerTests} from './reader.mjs';

readerTests('the gallery', ({look}) => {
  test('the gallery filters by group and by class', () =>
    look('labels', async (page) => {
      const cards = page.locator('.picture');
      assert.equal(await cards.count(), 24);
      await page.locator('.more').click();
      assert.equal(await cards.count(), 40);
      await page.locator('label[for=gallery-group-changed]').click();
      assert.ok((await cards.locator('dl').allTextContents()).every((text) => !text.includes('Beforesame')));
      const option = await page.locator('#gallery-class option').nth(1).getAttribute('value');
      await page.locator('#gallery-class').selectOption(option);
      assert.ok((await cards.count()) >= 1);
      assert.ok((await cards.locator('.predicted strong').allTextContents()).every((text) => text === option));
      assert.equal(await cards.first().locator('.votes li').count(), 4);
    }));
});
