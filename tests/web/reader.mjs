// Test harness: opens reports in a browser.
import assert from 'node:assert/strict';
import {after, before, describe} from 'node:test';

import {FIXTURES} from './fixture.mjs';
import {ReportFolder, launch, open, whyNoBrowser} from './page.mjs';

/**
 * Tests that share a browser. `body` is given
 *   look(fixture, act, options): opens a report, calls `act` with its page, and expects neither errors nor requests;
 *   path(fixture): the file of the report, created on first use;
 *   write(name, data): creates a report from other data;
 *   visit(path, options): open() in the shared browser.
 */
export function readerTests(name, body) {
  describe(name, {skip: whyNoBrowser()}, () => {
    let folder;
    let browser;
    const paths = new Map();
    before(async () => {
      folder = new ReportFolder();
      browser = await launch();
    });
    after(async () => {
      await browser?.close();
      folder?.clear();
    });
    const write = (report, data) => folder.report(report, data);
    const path = (fixture) => {
      if (!paths.has(fixture)) paths.set(fixture, write(fixture, FIXTURES[fixture]()));
      return paths.get(fixture);
    };
    const visit = (file, options) => open(browser, file, options);
    const look = async (fixture, act, options) => {
      const {page, context, requests, errors} = await visit(path(fixture), options);
      try {
        await act(page);
        assert.deepEqual(errors, [], `${fixture}: errors`);
        assert.deepEqual(requests, [], `${fixture}: requests`);
      } finally {
        await context.close();
      }
    };
    body({look, path, write, visit});
  });
}

/** Hash of the content of a canvas. */
export function canvasPrint(page, selector) {
  return page.locator(selector).evaluate(async (canvas) => {
    const bytes = new TextEncoder().encode(canvas.toDataURL());
    return [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))].join(' ');
  });
}

/** "2,817 pictures" to 2817. */
export const numberIn = (text) => Number(text.replace(/[^0-9.−-]/g, '').replace('−', '-'));

export const sumOf = (texts) => texts.map(numberIn).reduce((sum, value) => sum + value, 0);
