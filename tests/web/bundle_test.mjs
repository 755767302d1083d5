// Types of the page's modules, and the rules of the bundle.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';

import {bundleErrors, typeErrors, whyNoBundle, whyNoTypescript} from './page.mjs';

test('the modules pass the type checker', {skip: whyNoTypescript()}, () => assert.equal(typeErrors(), ''));

describe('the bundle', {skip: whyNoBundle()}, () => {
  const rejected = (module, text, message) => assert.match(bundleErrors(module, text), message);
  test('accepts the modules as they are', () => assert.equal(bundleErrors('live', ''), ''));
  test('rejects a name that two modules declare', () =>
    rejected(
      'live',
      'const EVERY_POINT = 1;\nfunction percent() {}\n',
      /live\.js declares percent, which an earlier module also declares/,
    ));
  test('rejects an import of a later module', () =>
    rejected(
      'format',
      "import {mapSection} from './map.js';\n",
      /format\.js imports map\.js, which is not listed before it/,
    ));
  test('rejects a multi-line import', () =>
    rejected('live', "import {\n  count,\n} from './format.js';\n", /live\.js: not a one-line import/));
  test('rejects an export of a list', () =>
    rejected('live', 'export {savePosition};\n', /live\.js: an export that does not precede a declaration/));
  test('rejects text that would end the script element', () =>
    rejected('live', "const ending = '</script>';\n", /contains <\/script/));
});
