// The page for labelling pictures.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import {readerTests} from './reader.mjs';
import {thumbnailOf} from './thumbnail.mjs';

const task = ({classes = ['car', 'lorry, big', '=bus'], count = 3, audit = false} = {}) => ({
  schema: 1,
  kind: 'labels',
  name: 'street',
  file: audit ? 'audit.csv' : 'labels.csv',
  created: '2026-11-15 13:20 UTC',
  versions: [['tributary', '0.2.0']],
  audit,
  classes,
  class_cells: classes.map((name) => (name === '=bus' ? "'=bus" : name.includes(',') ? `"${name}"` : name)),
  pictures: Array.from({length: count}, (_, index) => ({
    path: `photos/${index}, x.jpg`,
    thumb: thumbnailOf(index, () => 0),
    label: '',
    cells: [`"photos/${index}, x.jpg"`, audit ? 'random 0' : 'suggested'],
    ...(audit ? {} : {guess: classes[0]}),
  })),
});

readerTests('the labelling page', ({write, visit}) => {
  const look = async (name, data, act, options) => {
    const {page, context, requests, errors} = await visit(write(name, data), options);
    try {
      await act(page);
      assert.deepEqual(errors, []);
      assert.deepEqual(requests, []);
    } finally {
      await context.close();
    }
  };
  const saved = async (page) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', {name: /^Save/}).click()]);
    return [download.suggestedFilename(), readFileSync(await download.path(), 'utf8')];
  };

  test('labels with the keyboard alone and saves cells as the program wrote them', () =>
    look('keys', task(), async (page) => {
      await page.keyboard.press('2');
      await page.keyboard.press('3');
      assert.equal(await page.locator('#position').textContent(), 'Picture 3 of 3');
      await page.keyboard.press('ArrowLeft');
      assert.ok(await page.locator('input[value="=bus"]').isChecked());
      assert.equal(await page.locator('.controls .shown').textContent(), '2 of 3 pictures labelled');
      const [name, text] = await saved(page);
      assert.equal(name, 'labels.csv');
      assert.equal(
        text,
        'picture,label,drawn\n"photos/0, x.jpg","lorry, big",suggested\n"photos/1, x.jpg",\'=bus,suggested\n' +
          '"photos/2, x.jpg",,suggested\n',
      );
    }));

  test('labels survive a reload, and can be taken back', () =>
    look('reload', task(), async (page) => {
      await page.keyboard.press('1');
      await page.reload();
      assert.equal(await page.locator('#position').textContent(), 'Picture 2 of 3', 'the first without a label');
      await page.keyboard.press('ArrowLeft');
      await page.getByRole('button', {name: 'No label'}).click();
      assert.equal(await page.locator('.controls .shown').textContent(), '0 of 3 pictures labelled');
      assert.ok(await page.getByRole('button', {name: /^Save/}).isDisabled());
    }));

  test('a page that is written again has labels of its own pictures only', () =>
    look('again', task(), async (page) => {
      await page.keyboard.press('1');
      await page.keyboard.press('2');
      const other = task();
      other.pictures = [other.pictures[1], {...other.pictures[0], path: 'photos/new.jpg'}];
      write('again', other);
      await page.reload();
      assert.equal(await page.locator('.controls .shown').textContent(), '1 of 2 pictures labelled');
      assert.equal(await page.locator('.labelled .path').textContent(), 'photos/new.jpg');
    }));

  test('ten thousand classes are not all shown at once', () =>
    look('thousands', task({classes: Array.from({length: 10000}, (_, k) => `class ${k}`)}), async (page) => {
      assert.equal(await page.locator('.answer').count(), 200);
      assert.match(await page.locator('.answers .more').textContent(), /^9,800 more/);
      await page.getByLabel(/Find a class/).fill('class 9876');
      await page.keyboard.press('Enter');
      await page.keyboard.press('ArrowLeft');
      assert.ok(await page.locator('input[value="class 9876"]').isChecked());
    }));

  test('many classes are found by typing', () =>
    look('many', task({classes: Array.from({length: 40}, (_, k) => `class ${k}`)}), async (page) => {
      await page.getByLabel(/Find a class/).fill('37');
      await page.keyboard.press('Enter');
      assert.equal(await page.locator('#position').textContent(), 'Picture 2 of 3');
      assert.match((await saved(page))[1], /class 37/);
    }));

  test('an audit shows no prediction', () =>
    look('audit', task({audit: true}), async (page) => {
      assert.equal(await page.locator('.guess').textContent(), '');
      assert.match(await page.locator('.lead').textContent(), /drawn at random/);
      await page.keyboard.press('1');
      assert.match((await saved(page))[1], /random 0/);
    }));

  for (const colorScheme of ['light', 'dark'])
    for (const width of [390, 1440])
      test(`fits ${width} pixels, ${colorScheme}, and every control has a name`, () =>
        look(
          'fits',
          task(),
          async (page) => {
            const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            assert.ok(wide <= 0, `${wide} pixels too wide`);
            const nameless = await page.evaluate(() =>
              [...document.querySelectorAll('button, input')]
                .filter((part) => !(part.textContent.trim() || part.labels?.[0]?.textContent.trim()))
                .map((part) => part.outerHTML),
            );
            assert.deepEqual(nameless, []);
          },
          {width, colorScheme},
        ));
});
