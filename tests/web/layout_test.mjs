// Layout on desktop, phone and paper, in the light and dark theme.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {FIXTURES} from './fixture.mjs';
import {canvasPrint, readerTests} from './reader.mjs';

readerTests('the layout', ({look}) => {
  for (const name of Object.keys(FIXTURES)) {
    test(`${name}: everything is drawn and nothing overflows on phone or desktop`, () =>
      look(
        name,
        async (page) => {
          for (const width of [360, 768, 1440]) {
            await page.setViewportSize({width, height: 740});
            await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
            const out = await page.evaluate(() => ({
              page: document.documentElement.scrollWidth - innerWidth,
              parts: [...document.querySelectorAll('main *')]
                .filter(
                  (part) =>
                    part.getBoundingClientRect().right > innerWidth + 1 &&
                    !part.closest('.scroll, .map-plot, .unseen, .links, svg, select'),
                )
                .map((part) => part.className || part.tagName),
            }));
            assert.deepEqual(out, {page: 0, parts: []}, `at ${width} px`);
          }
          assert.equal(await page.locator('.failed, .broken').count(), 0);
          const empty = await page.evaluate(() =>
            [...document.querySelectorAll('.plot canvas')]
              .filter((canvas) => {
                const chart = window.Chart.getChart(canvas);
                const drawn =
                  chart &&
                  chart.data.datasets.length > 0 &&
                  chart.data.datasets.every(({data}) => data.some((value) => value !== null));
                return !drawn || (!canvas.closest('[hidden]') && canvas.width === 0);
              })
              .map((canvas) => canvas.closest('figure').id),
          );
          assert.deepEqual(empty, []);
        },
        {width: 360, height: 740},
      ));
  }

  for (const name of ['labels', 'unlabelled', 'many']) {
    test(`${name}: the largest cells off the diagonal are shown with all columns`, () =>
      look(
        name,
        async (page) =>
          assert.equal(
            await page.evaluate(() => {
              const box = document.querySelector('.pairs .scroll');
              return box.scrollWidth - box.clientWidth;
            }),
            0,
          ),
        {width: 1400, height: 900},
      ));
  }

  test('the theme follows the system until the reader chooses', async () => {
    const groundIs = (page, colour) =>
      page.waitForFunction((wanted) => getComputedStyle(document.body).backgroundColor === wanted, colour);
    await look('labels', async (page) => groundIs(page, 'rgb(244, 246, 246)'), {
      colorScheme: 'light',
    });
    await look(
      'labels',
      async (page) => {
        await groundIs(page, 'rgb(15, 19, 23)');
        const dark = await canvasPrint(page, '#map-canvas');
        await page.locator('#theme').click();
        await groundIs(page, 'rgb(244, 246, 246)');
        assert.notEqual(await canvasPrint(page, '#map-canvas'), dark);
        await page.reload();
        await groundIs(page, 'rgb(244, 246, 246)');
      },
      {colorScheme: 'dark'},
    );
  });

  for (const name of ['labels', 'many', 'table']) {
    test(`${name}: print is light, without controls, and fits`, () =>
      look(
        name,
        async (page) => {
          await page.emulateMedia({media: 'print', colorScheme: 'dark'});
          await page.waitForTimeout(200);
          assert.equal(
            await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
            'rgb(255, 255, 255)',
          );
          assert.equal(await page.locator('.controls:visible, .bar:visible').count(), 0);
          assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
          const pdf = await page.pdf({format: 'A4'});
          assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
          assert.ok(pdf.length > 50000);
        },
        {width: 700, height: 990, colorScheme: 'dark'},
      ));
  }
});
