// The modules of the page and the bundle that is made of them.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';

import {bundleErrors, typeErrors, whyNoBundle, whyNoTypescript} from './page.mjs';

test('the modules are rightly typed', {skip: whyNoTypescript()}, () => assert.equal(typeErrors(), ''));

describe('the bundle', {skip: whyNoBundle()}, () => {
  const refused = (module, text, message) => assert.match(bundleErrors(module, text), message);
  test('is made of the modules as they are', () => assert.equal(bundleErrors('live', ''), ''));
  test('refuses a name that two modules declare', () =>
    refused(
      'live',
      'const EVERY_POINT = 1;\nfunction percent() {}\n',
      /live\.js declares percent, as a module before it does/,
    ));
  test('refuses an import of a later module', () =>
    refused(
      'format',
      "import {mapSection} from './map.js';\n",
      /format\.js imports map\.js, which does not come before it/,
    ));
  test('refuses an import of many lines', () =>
    refused('live', "import {\n  count,\n} from './format.js';\n", /live\.js: not an import on one line/));
  test('refuses an export of a list', () =>
    refused('live', 'export {keepPlace};\n', /live\.js: an export that does not stand before a declaration/));
  test('refuses what would end the script', () =>
    refused('live', "const ending = '</script>';\n", /contains <\/script/));
});
