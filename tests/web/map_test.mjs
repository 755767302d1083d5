// The t-SNE map.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {canvasPrint, numberIn, readerTests, sumOf} from './reader.mjs';
import {runData} from './rundata.mjs';

readerTests('the map', ({look, write, visit}) => {
  test('the slider moves the points, and the round survives a reload', () =>
    look('labels', async (page) => {
      const end = await canvasPrint(page, '#map-canvas');
      await page.locator('#map-round').fill('0');
      const start = await canvasPrint(page, '#map-canvas');
      assert.notEqual(start, end);
      assert.equal(await page.locator('.rounds output').textContent(), 'before training');
      await page.reload();
      assert.equal(await page.locator('#map-round').inputValue(), '0');
      assert.equal(await canvasPrint(page, '#map-canvas'), start);
      await page.locator('#map-round').focus();
      await page.keyboard.press('End');
      assert.equal(await canvasPrint(page, '#map-canvas'), end);
    }));

  test('points are animated unless reduced motion is preferred', () =>
    look(
      'labels',
      async (page) => {
        await page.clock.install();
        await page.clock.pauseAt(Date.now() + 60000);
        const prints = [await canvasPrint(page, '#map-canvas')];
        await page.locator('#map-round').fill('0');
        for (let i = 0; i < 3; ++i) {
          await page.clock.runFor(300);
          prints.push(await canvasPrint(page, '#map-canvas'));
        }
        assert.equal(new Set(prints).size, 4);
        await page.clock.runFor(1000);
        assert.equal(await canvasPrint(page, '#map-canvas'), prints[3]);

        await page.locator('.play').click();
        await page.clock.runFor(12000);
        assert.equal(await page.locator('#map-round').inputValue(), '10');
        assert.equal(await page.locator('.play').textContent(), 'Play');
      },
      {reducedMotion: 'no-preference'},
    ));

  test('every colouring differs, and its key counts all points', () =>
    look('labels', async (page) => {
      const prints = new Set();
      for (const colouring of ['label', 'truth', 'confident', 'agreement']) {
        await page.locator(`label[for=map-colour-${colouring}]`).click();
        prints.add(await canvasPrint(page, '#map-canvas'));
        const numbers = await page
          .locator(colouring === 'label' || colouring === 'truth' ? '.map-classes .number' : '.map-key .number')
          .allTextContents();
        assert.equal(sumOf(numbers), 1000, colouring);
      }
      assert.equal(prints.size, 4);
    }));

  test('the legend filters classes', () =>
    look('labels', async (page) => {
      const all = await canvasPrint(page, '#map-canvas');
      const button = page.locator('.map-classes button').nth(3);
      const number = numberIn(await button.locator('.number').textContent());
      await button.click();
      assert.equal(await page.locator('#map .map-filter .shown').textContent(), `${number} of 1,000 points`);
      assert.notEqual(await canvasPrint(page, '#map-canvas'), all);
      await page.getByRole('button', {name: 'Show all', exact: true}).click();
      assert.equal(await canvasPrint(page, '#map-canvas'), all);
    }));

  test('a point is identified by pointer, touch and keyboard', async () => {
    await look('labels', async (page) => {
      const canvas = page.locator('#map-canvas');
      await canvas.scrollIntoViewIfNeeded();
      await canvas.focus();
      await page.keyboard.press('ArrowRight');
      const first = await page.locator('.map-tip').textContent();
      assert.match(first, /Pseudo-label\d.*Truth\d.*Confident(yes|no).*agree/);
      await page.keyboard.press('ArrowRight');
      assert.notEqual(await page.locator('.map-tip').textContent(), first);
      const second = await page.locator('.map-tip').textContent();
      const ring = await page.locator('.map-ring').boundingBox();
      await page.keyboard.press('Escape');
      assert.equal(await page.locator('.map-tip').isVisible(), false);
      await page.mouse.move(ring.x + ring.width / 2, ring.y + ring.height / 2);
      assert.equal(await page.locator('.map-tip').textContent(), second);
    });
    await look(
      'labels',
      async (page) => {
        const canvas = page.locator('#map-canvas');
        await canvas.scrollIntoViewIfNeeded();
        const box = await canvas.boundingBox();
        for (let x = 0.3; x < 0.7 && !(await page.locator('.map-tip').isVisible()); x += 0.05)
          await page.touchscreen.tap(box.x + box.width * x, box.y + box.height * 0.5);
        assert.equal(await page.locator('.map-tip').isVisible(), true);
      },
      {width: 360, height: 740, hasTouch: true},
    );
  });

  test('zooms in and back out to all points', () =>
    look('labels', async (page) => {
      const all = await canvasPrint(page, '#map-canvas');
      await page.getByRole('button', {name: 'Zoom in'}).click();
      assert.notEqual(await canvasPrint(page, '#map-canvas'), all);
      await page.getByRole('button', {name: 'Show all points'}).click();
      assert.equal(await canvasPrint(page, '#map-canvas'), all);
    }));

  test('a sampled map says so', () =>
    look('many', async (page) => {
      assert.match(await page.locator('#map .intro').textContent(), /a sample: 4,000 of the 9,000 pictures/);
    }));

  test('all pictures of the last round can be shown, and the text says so', () =>
    look('full', async (page) => {
      const [canvas, intro] = [page.locator('#map-canvas'), page.locator('#map .intro')];
      const sample = await canvasPrint(page, '#map-canvas');
      assert.match(await intro.textContent(), /a sample: 300 of the 1,000 pictures\.$/);
      await page.locator('label[for=map-extent-full]').click();
      assert.match(await intro.textContent(), /shows all 1,000 pictures in round 10, in a layout of its own/);
      assert.match(await canvas.getAttribute('aria-label'), /^Map of 1,000 pictures/);
      assert.equal(await page.locator('#map-round').isVisible(), false);
      const all = await canvasPrint(page, '#map-canvas');
      assert.notEqual(all, sample);

      await page.reload();
      assert.equal(await page.locator('#map-extent-full').isChecked(), true);
      assert.equal(await canvasPrint(page, '#map-canvas'), all);
      await page.locator('label[for=map-extent-sample]').click();
      assert.equal(await canvasPrint(page, '#map-canvas'), sample);
      assert.equal(await page.locator('#map-round').isVisible(), true);
    }));

  test('colours, filter and keyboard work for all pictures as for the sample', () =>
    look('full', async (page) => {
      await page.locator('#map-extent-sample').focus();
      await page.keyboard.press('ArrowRight');
      const prints = new Set();
      for (const colouring of ['truth', 'confident', 'agreement', 'label']) {
        await page.locator(`label[for=map-colour-${colouring}]`).click();
        prints.add(await canvasPrint(page, '#map-canvas'));
        const numbers = colouring === 'label' || colouring === 'truth' ? '.map-classes .number' : '.map-key .number';
        assert.equal(sumOf(await page.locator(numbers).allTextContents()), 1000, colouring);
      }
      assert.equal(prints.size, 4);

      const button = page.locator('.map-classes button').nth(4);
      const number = numberIn(await button.locator('.number').textContent());
      await button.click();
      assert.equal(await page.locator('#map .map-filter .shown').textContent(), `${number} of 1,000 points`);
      await page.locator('#map-canvas').focus();
      for (let i = 0; i < 3; ++i) {
        await page.keyboard.press('ArrowLeft');
        assert.match(await page.locator('.map-tip').textContent(), /Pseudo-label4Truth\d.*Confident(yes|no).*agree/);
      }
      await page.locator('label[for=map-extent-sample]').click();
      assert.equal(await page.locator('.map-tip').isVisible(), false);
      assert.match(await page.locator('#map .map-filter .shown').textContent(), /^\d+ of 300 points$/);
    }));

  test('without a map of all pictures there is no choice', () =>
    look('labels', async (page) => assert.equal(await page.locator('[name=map-extent]').count(), 0)));

  test('a method without a confident set has no such colouring', async () => {
    const data = runData({pictures: 60, rounds: 1});
    for (const round of data.rounds) round.confident = null;
    const {page, context} = await visit(write('unselective', data));
    const choices = await page.locator('#map .segments').first().locator('label').allTextContents();
    assert.deepEqual(choices, ['Pseudo-label', 'Truth', 'Agreement']);
    await page.locator('#map-canvas').focus();
    await page.keyboard.press('ArrowRight');
    assert.doesNotMatch(await page.locator('.map-tip').textContent(), /Confident/);
    await context.close();
  });
});
