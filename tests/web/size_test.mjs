// Size and speed of a large report: 25,000 pictures in 20 rounds, 5,000 of them on the map in 5 rounds and all of them
// in the last.
import assert from 'node:assert/strict';
import {statSync} from 'node:fs';
import {availableParallelism, loadavg} from 'node:os';
import {test} from 'node:test';

import {readerTests} from './reader.mjs';

// Time limit in milliseconds, scaled by the load of the machine.
const within = (milliseconds) => milliseconds * Math.max(1, loadavg()[0] / availableParallelism());

readerTests('a large report', ({look, path}) => {
  test('is smaller than 15 MB', (t) => {
    const {size} = statSync(path('large'));
    t.diagnostic(`${(size / 1e6).toFixed(1)} MB`);
    assert.ok(size < 15e6, `${size} bytes`);
  });

  test('loads within 3 s and responds within half a second', (t) =>
    look('large', async (page) => {
      const ready = await page.evaluate(() => performance.getEntriesByType('navigation')[0].domComplete);
      const took = await page.evaluate(() => {
        const timed = (act) => {
          const began = performance.now();
          act();
          return performance.now() - began;
        };
        const slider = document.getElementById('map-round');
        return {
          round: timed(() => {
            slider.value = '3';
            slider.dispatchEvent(new Event('input'));
          }),
          all: timed(() => document.getElementById('map-extent-full').click()),
          colour: timed(() => document.getElementById('map-colour-agreement').click()),
          filter: timed(() => document.querySelector('.map-classes button').click()),
          zoom: timed(() => document.querySelector('.map-zoom button').click()),
        };
      });
      const said = Object.entries(took).map(([what, time]) => `${what} ${time.toFixed(0)} ms`);
      t.diagnostic(`ready after ${ready.toFixed(0)} ms; ${said.join(', ')}; load ${loadavg()[0].toFixed(1)}`);
      assert.ok(ready <= within(3000), `ready after ${ready} ms`);
      for (const [what, time] of Object.entries(took)) assert.ok(time < within(500), `${what} took ${time} ms`);
    }));
});
