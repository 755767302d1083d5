// The verdict at the top of a run's page.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {readerTests} from './reader.mjs';
import {runData} from './rundata.mjs';

readerTests('the verdict', ({look, write, visit}) => {
  test('says in words how good the result is and what to look at', () =>
    look('labels', async (page) => {
      const panel = page.locator('#verdict');
      assert.equal(await panel.locator('h2').textContent(), 'Check this result before you use it');
      const text = await panel.textContent();
      assert.match(text, /Probably right in about 85 of 100 pictures \(between 77 and 93\); before the adaptation it was about 80\./);
      assert.match(text, /The accuracy may be as low as 77 %, below the required 80 %\./);
      assert.match(text, /Look at \d+ pictures first: those with “yes” in the column check/);
      assert.match(text, /Distrust the class .+ \(about 62 of 100 right\)\./);
      assert.match(text, /Errors that all models share cannot be seen/);
    }));

  test('comes with the calibrated confidence', () =>
    look('unlabelled', async (page) =>
      assert.match(await page.locator('.facts').textContent(), /Mean confidence85\.4\s%Of the predicted class, calibrated/),
    ));

  test('offers the unadapted models, and fits every window in both themes', async () => {
    const data = runData({pictures: 200, rounds: 2, points: 0, gallery: 0});
    data.verdict = {
      decision: 'do not use',
      reasons: ['the estimated accuracy fell from 85 % to 70 %'],
      unadapted_model: 'runs/a-long-name-for-a-run-of-many-words/unadapted.safetensors',
    };
    data.estimate = {before: null, after: null, classes: []};
    const {page, context, errors} = await visit(write('worse', data), {width: 1280, height: 800});
    try {
      const panel = page.locator('#verdict');
      assert.match(await panel.textContent(), /Do not use this result.*How many predictions are right is unknown\..*unadapted\.safetensors/);
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({colorScheme});
        for (const width of [320, 1280]) {
          await page.setViewportSize({width, height: 700});
          assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, `${width} px`);
          assert.ok(await panel.isVisible());
        }
      }
      assert.deepEqual(errors, []);
    } finally {
      await context.close();
    }
  });

  test('is absent from runs of older versions', () =>
    look('bare', async (page) => assert.equal(await page.locator('#verdict').count(), 0)));
});
