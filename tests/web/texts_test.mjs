// Texts of the page, missing data and hostile input.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {readerTests} from './reader.mjs';
import {runData} from './rundata.mjs';

readerTests('texts', ({look, write, visit}) => {
  test('the command is copied', () =>
    look('labels', async (page) => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.locator('.copy').click();
      await page.getByText('copied', {exact: true}).waitFor();
      assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^tributary adapt --source/);
    }));

  test('missing data is explained', async () => {
    await look('unlabelled', async (page) => {
      const text = await page.locator('main').textContent();
      assert.match(text, /this page shows no accuracy/);
      assert.match(text, /Recall and precision need labels/);
      assert.doesNotMatch(text, /undefined|NaN|null/);
      assert.equal(await page.locator('#accuracy, #pseudo-labels').count(), 0);
    });
    await look('heldOut', async (page) => {
      const text = await page.locator('main').textContent();
      assert.match(text, /Accuracy is measured on held-out pictures, street\/test; the labels of the target are unknown\./);
      assert.match(text, /Accuracy on held-out pictures50\.0\s% → 80\.0\s%/);
      assert.doesNotMatch(text, /no accuracy|undefined|NaN|null/);
      assert.match(await page.locator('#accuracy .legend').textContent(), /held-out pictures/);
      assert.match(text, /1 model adapted to 200 unlabelled pictures/);
      assert.equal(await page.locator('.eyebrow').textContent(), 'Source-ens');
    });
    await look('keptEarlier', async (page) => {
      const text = await page.locator('#summary').textContent();
      assert.match(text, /This is the result of round 1 because round 3 was rejected: one class gained half/);
      assert.match(text, /Accuracy50\.0\s% → 75\.0\s%/);
      assert.match(text, /Largest weight: postal75\s% → 75\s%/);
    });
    await look('other', async (page) => {
      const text = await page.locator('main').textContent();
      for (const sentence of [
        /No domain weights are recorded/,
        /No confident set is recorded/,
        /bound were not computed/,
        /No map of the pictures/,
        /has no pictures/,
      ])
        assert.match(text, sentence);
      assert.doesNotMatch(text, /undefined|NaN|null/);
    });
    await look('bare', async (page) =>
      assert.doesNotMatch(await page.locator('main').textContent(), /undefined|NaN|null/),
    );
  });

  test('hostile texts are not interpreted', () =>
    look('hostile', async (page) => {
      await page.waitForTimeout(300);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      assert.equal(await page.locator('main script').count(), 0);
      assert.equal(await page.locator('img:not([src^="data:image/"])').count(), 0);
      assert.equal(await page.locator('img[onerror]').count(), 0);
      assert.match(await page.locator('h1').textContent(), /^<img src=x onerror=/);
      assert.doesNotMatch(await page.locator('main').textContent(), /\u202e/);
    }));

  test('data of another schema is rejected with a message', async () => {
    const file = write('other-schema', {...runData({pictures: 20, rounds: 1}), schema: 2});
    const {page, context} = await visit(file);
    assert.match(await page.locator('main').textContent(), /cannot be shown.*schema 2/);
    await context.close();
  });
});
