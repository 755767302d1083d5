// The charts: completeness, axes that start at zero, and legends.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {readerTests} from './reader.mjs';

readerTests('charts', ({look}) => {
  test('there is a chart for every measurement', () =>
    look('labels', async (page) => {
      const titles = await page.locator('figure.chart h3').allTextContents();
      assert.deepEqual(titles, [
        'Share of each source',
        'Raw weights',
        'Size of the confident set',
        'Accuracy of pseudo-labels',
        'Accuracy',
        'Predictions that changed',
        'Mean confidence',
        'Entropy',
        'Cross-entropy',
        'Information maximisation',
        'Adversarial alignment',
        'Discriminator',
        'Terms of the bias',
        'Bias, variance and sum',
        'Label disagreement',
        'Time',
      ]);
    }));

  test('axes of shares and counts start at zero', () =>
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

  test('a legend hides a line, also after a reload', () =>
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

  test('the data table of a chart unfolds', () =>
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

  test('the bound has separate charts for nats, units of the loss and shares', () =>
    look('labels', async (page) => {
      assert.deepEqual(await seriesOf(page, 'bound-divergences'), {
        unit: 'divergence, nats',
        lines: [
          'label mismatch, estimated',
          'label mismatch, from true labels',
          'feature misalignment, joint',
          'feature misalignment, mean over sources',
          'maximum misalignment, ln(n / N)',
        ],
      });
      assert.deepEqual(await seriesOf(page, 'bound-sum'), {
        unit: 'bound, in units of the loss',
        lines: ['bias', 'variance', 'sum', 'sum, from true labels', 'maximum loss'],
      });
      assert.deepEqual(await seriesOf(page, 'bound-disagreement'), {
        unit: 'share of the confident set, %',
        lines: ['sources vs. pseudo-label', 'mixture vs. pseudo-label', 'wrong pseudo-labels'],
      });
      assert.match(await page.locator('#bound-sum figcaption').textContent(), /it is vacuous/);
      assert.equal(await page.locator('#bound .notes li').count(), 6);
    }));

  test('without labels the bound has estimates only', () =>
    look('unlabelled', async (page) => {
      for (const id of ['bound-divergences', 'bound-sum', 'bound-disagreement'])
        assert.doesNotMatch((await seriesOf(page, id)).lines.join(), /true|wrong/);
      assert.match(await page.locator('#bound-disagreement figcaption').textContent(), /which is unknown here/);
    }));
});
