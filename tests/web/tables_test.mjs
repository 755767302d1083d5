// Tables of classes, confusions, configuration and benchmarks.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {numberIn, readerTests} from './reader.mjs';

readerTests('tables', ({look}) => {
  test('the table of classes sorts by every column', () =>
    look('labels', async (page) => {
      for (const [column, name] of [
        'Class',
        'Before',
        'After',
        'Change',
        'Confidence',
        'Recall',
        'Precision',
      ].entries()) {
        const head = page.locator('#per-class thead th').nth(column);
        assert.equal((await head.textContent()).trim(), name);
        await head.locator('button').click();
        const values = (await page.locator(`#per-class tbody tr > :nth-child(${column + 1})`).allTextContents()).map(
          numberIn,
        );
        const rising = (await head.getAttribute('aria-sort')) === 'ascending';
        assert.deepEqual(
          values,
          [...values].sort((a, b) => (rising ? a - b : b - a)),
          name,
        );
      }
    }));

  for (const [name, pictures] of [
    ['labels', 1000],
    ['unlabelled', 1000],
    ['many', 9000],
    ['hostile', 200],
  ]) {
    test(`${name}: the confusion matrix sums to all pictures in every view`, () =>
      look(name, async (page) => {
        const sums = async () => {
          const cells = await page.locator('.confusion-table tbody td[data-row]').allTextContents();
          const rows = await page.locator('.confusion-table tbody td.total').allTextContents();
          const columns = await page.locator('.confusion-table tfoot td.total:not(.grand)').allTextContents();
          const sum = (texts) => texts.map(numberIn).reduce((total, value) => total + value, 0);
          return [
            sum(cells),
            sum(rows),
            sum(columns),
            numberIn(await page.locator('.confusion-table .grand').textContent()),
          ];
        };
        assert.deepEqual(await sums(), [pictures, pictures, pictures, pictures]);
        if (await page.locator('#confusion-moment-before').count()) {
          const earlier = await page.locator('.confusion-table tbody').textContent();
          await page.locator('label[for=confusion-moment-before]').click();
          assert.notEqual(await page.locator('.confusion-table tbody').textContent(), earlier);
          assert.deepEqual(await sums(), [pictures, pictures, pictures, pictures]);
        }
        if (await page.locator('#confusion-part').count()) {
          await page.locator('#confusion-part').selectOption('32');
          assert.deepEqual(await sums(), [pictures, pictures, pictures, pictures]);
          await page.locator('#confusion-word').fill('berry');
          assert.ok(
            (await page.locator('.confusion-table tbody th').allTextContents())
              .slice(0, -1)
              .every((text) => text.includes('berry')),
          );
          assert.deepEqual(await sums(), [pictures, pictures, pictures, pictures]);
        }
      }));
  }

  test('arrow keys move through the confusion matrix', () =>
    look('labels', async (page) => {
      await page.locator('.confusion-table td[data-row="0"][data-column="0"]').focus();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowRight');
      assert.match(await page.locator('.readout').textContent(), /^truth 1, predicted 1: \d+ pictures/);
    }));

  test('a word filters the configuration', () =>
    look('labels', async (page) => {
      const rows = page.locator('#config tbody tr:visible');
      assert.equal(await rows.count(), 14);
      await page.locator('#config-filter').fill('alignment');
      assert.deepEqual(await rows.locator('th').allTextContents(), ['alignment.factor', 'alignment.rate']);
      await page.locator('#config-filter').fill('no such word');
      assert.equal(await page.locator('#config .absent').isVisible(), true);
    }));

  test('a benchmark shows its tables, the paper’s results and one column as bars', () =>
    look('table', async (page) => {
      assert.equal(await page.locator('table.benchmark').count(), 2);
      assert.equal(await page.locator('table.benchmark').first().locator('tbody tr').count(), 9);
      assert.match(await page.locator('table.benchmark').first().textContent(), /paper \d/);
      assert.match(await page.locator('#table-1 .note').textContent(), /chosen with labels/);
      assert.equal(await page.locator('#table-2 .note').count(), 0);
      assert.equal(await page.locator('table.benchmark').first().locator('strong').count(), 6);
      const bars = () =>
        page.evaluate(() =>
          window.Chart.getChart(document.querySelector('#bars-1 canvas')).data.datasets.map(({data}) => data),
        );
      const mean = await bars();
      assert.equal(mean.length, 2);
      await page.locator('#column-1').selectOption('0');
      assert.notDeepEqual(await bars(), mean);
      assert.equal(
        await page.evaluate(() => window.Chart.getChart(document.querySelector('#bars-1 canvas')).scales.x.min),
        0,
      );
    }));
});
