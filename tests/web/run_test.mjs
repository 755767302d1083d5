// The report of a real run: generates digits, trains sources, adapts them and makes the report.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {fileURLToPath} from 'node:url';

import {canvasPrint, readerTests, sumOf} from './reader.mjs';

const PROGRAM = process.env.TRIBUTARY_BINARY ?? fileURLToPath(new URL('../../build/tributary', import.meta.url));
const PICTURES = 150;

readerTests('the report of a real run', ({visit}) => {
  let folder;
  const run = (...words) => execFileSync(PROGRAM, [...words, '--threads', '1'], {cwd: folder, stdio: 'pipe'});
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tributary-run-'));
    execFileSync(PROGRAM, ['data', 'make', 'digits', 'digits', '--pictures', String(PICTURES)], {cwd: folder});
    const sources = ['handwriting', 'signs'].flatMap((name) => {
      const data = `digits/${name}/train-images.idx`;
      run('train', '--data', data, '--architecture', 'lenet', '--epochs', '8', '--out', `${name}.safetensors`);
      return ['--source', `${name}.safetensors`];
    });
    const target = 'digits/street/train-images.idx';
    run('adapt', ...sources, '--target', target, '--rounds', '4', '--inner-epochs', '1', '--run', 'street');
    run('report', 'street', '--labels', target);
  });
  after(() => rmSync(folder, {recursive: true, force: true}));

  test('has data in every chart, a working map and filter, and no errors', async () => {
    const report = join(folder, 'street', 'report.html');
    const {page, context, requests, errors} = await visit(report, {width: 1440, height: 900});
    try {
      const charts = await page.evaluate(() =>
        [...document.querySelectorAll('.plot canvas')].map((canvas) =>
          window.Chart.getChart(canvas).data.datasets.map(({label, data}) => ({
            label,
            known: data.filter((value) => value !== null).length,
          })),
        ),
      );
      assert.ok(charts.length > 8, `${charts.length} charts`);
      for (const lines of charts)
        assert.ok(lines.length > 0 && lines.every(({known}) => known > 0), JSON.stringify(lines));
      assert.equal(sumOf(await page.locator('.confusion-table tbody td[data-row]').allTextContents()), PICTURES);

      const last = await canvasPrint(page, '#map-canvas');
      await page.emulateMedia({reducedMotion: 'reduce'});
      await page.locator('#map-round').fill('0');
      const first = await canvasPrint(page, '#map-canvas');
      assert.notEqual(first, last);
      await page.locator('.map-classes button').nth(1).click();
      assert.notEqual(await canvasPrint(page, '#map-canvas'), first);

      for (const width of [360, 1440]) {
        await page.setViewportSize({width, height: 740});
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, `${width} px`);
      }
      assert.deepEqual(errors, []);
      assert.deepEqual(requests, []);
    } finally {
      await context.close();
    }
  });
});
