// A reader of reports, for tests: opens them in a browser and looks.
import assert from 'node:assert/strict';
import {after, before, describe} from 'node:test';

import {FIXTURES} from './fixture.mjs';
import {Workshop, launch, open, whyNoBrowser} from './page.mjs';

/**
 * Tests that share a browser. `body` is given
 *   look(fixture, act, options): opens a report, hands its page to `act`, and wants neither errors nor requests;
 *   path(fixture): the report's file, made when it is first wanted;
 *   write(name, data): the same for data of a test's own, and
 *   visit(path, options): what open() gives.
 */
export function readerTests(name, body) {
  describe(name, {skip: whyNoBrowser()}, () => {
    let shop;
    let browser;
    const paths = new Map();
    before(async () => {
      shop = new Workshop();
      browser = await launch();
    });
    after(async () => {
      await browser?.close();
      shop?.clear();
    });
    const write = (report, data) => shop.report(report, data);
    const path = (fixture) => {
      if (!paths.has(fixture)) paths.set(fixture, write(fixture, FIXTURES[fixture]()));
      return paths.get(fixture);
    };
    const visit = (file, options) => open(browser, file, options);
    const look = async (fixture, act, options) => {
      const {page, context, asked, errors} = await visit(path(fixture), options);
      try {
        await act(page);
        assert.deepEqual(errors, [], `${fixture}: errors`);
        assert.deepEqual(asked, [], `${fixture}: requests`);
      } finally {
        await context.close();
      }
    };
    body({look, path, write, visit});
  });
}

/** What a canvas shows, as a short text that differs where it does. */
export function canvasPrint(page, selector) {
  return page.locator(selector).evaluate(async (canvas) => {
    const bytes = new TextEncoder().encode(canvas.toDataURL());
    return [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))].join(' ');
  });
}

/** "2,817 pictures" to 2817. */
export const numberIn = (text) => Number(text.replace(/[^0-9.−-]/g, '').replace('−', '-'));

export const sumOf = (texts) => texts.map(numberIn).reduce((sum, value) => sum + value, 0);
