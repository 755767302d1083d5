// The charts: which there are, that their axes are honest, and what their legends do.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {readerTests} from './reader.mjs';

readerTests('charts', ({look}) => {
  test('charts are there for all that was measured', () =>
    look('labels', async (page) => {
      const titles = await page.locator('figure.chart h3').allTextContents();
      assert.deepEqual(titles, [
        'Share of each source',
        'Raw weights',
        'Size of the confident set',
        'Right pseudo-labels',
        'Right predictions',
        'Predictions that changed',
        'Mean confidence',
        'Certain and diverse',
        'Cross-entropy',
        'Information maximisation',
        'Adversarial alignment',
        'Discriminator',
        'What the bias is made of',
        'What it adds up to',
        'What the mismatch is estimated from',
        'Time',
      ]);
    }));

  test('axes of shares and counts begin at zero', () =>
    look('labels', async (page) => {
      const least = await page.evaluate(() =>
        [...document.querySelectorAll('.plot canvas')]
          .map((canvas) => window.Chart.getChart(canvas))
          .filter((chart) => chart.width > 0)
          .filter((chart) => chart.data.datasets.every(({data}) => data.every((value) => value === null || value >= 0)))
          .map((chart) => chart.scales.y.min),
      );
      assert.ok(least.length > 10);
      assert.ok(
        least.every((value) => value === 0),
        String(least),
      );
    }));

  test('a legend hides a line and keeps that over a reload', () =>
    look('labels', async (page) => {
      const button = page.locator('#accuracy .legend button').first();
      await button.click();
      assert.equal(await button.getAttribute('aria-pressed'), 'false');
      await page.reload();
      assert.equal(await button.getAttribute('aria-pressed'), 'false');
      assert.equal(
        await page.evaluate(() =>
          window.Chart.getChart(document.querySelector('#accuracy canvas')).isDatasetVisible(0),
        ),
        false,
      );
    }));

  test('the figures of a chart unfold as a table', () =>
    look('labels', async (page) => {
      await page.locator('#confident summary').click();
      await page.locator('#confident .figures table').waitFor();
      assert.equal(await page.locator('#confident .figures tbody tr').count(), 11);
      assert.match(await page.locator('#confident .figures tbody tr').last().textContent(), /1,000/);
    }));

  const seriesOf = (page, id) =>
    page.evaluate((figure) => {
      const chart = window.Chart.getChart(document.querySelector(`#${figure} canvas`));
      return {lines: chart.data.datasets.map(({label}) => label), unit: chart.options.scales.y.title.text};
    }, id);

  test('the bound keeps nats, units of the loss and shares apart', () =>
    look('labels', async (page) => {
      assert.deepEqual(await seriesOf(page, 'bound-divergences'), {
        unit: 'divergence, nats',
        lines: [
          'label mismatch, estimated',
          'label mismatch by the true labels',
          'feature misalignment, joint',
          'its mean over the sources',
          'most misalignment possible, ln(n / N)',
        ],
      });
      assert.deepEqual(await seriesOf(page, 'bound-sum'), {
        unit: 'bound, in units of the loss',
        lines: ['bias', 'variance', 'sum', 'sum by the true labels', 'most a loss can be'],
      });
      assert.deepEqual(await seriesOf(page, 'bound-disagreement'), {
        unit: 'of the confident set, %',
        lines: ['sources against the pseudo-label', 'mixture against the pseudo-label', 'wrong pseudo-labels'],
      });
      assert.match(await page.locator('#bound-sum figcaption').textContent(), /it guarantees nothing/);
      assert.equal(await page.locator('#bound .notes li').count(), 6);
    }));

  test('without labels the bound has its estimates only', () =>
    look('unlabelled', async (page) => {
      for (const id of ['bound-divergences', 'bound-sum', 'bound-disagreement'])
        assert.doesNotMatch((await seriesOf(page, id)).lines.join(), /true|wrong/);
      assert.match(await page.locator('#bound-disagreement figcaption').textContent(), /which nobody knows here/);
    }));
});
