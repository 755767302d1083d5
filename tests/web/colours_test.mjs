// Contrast and colour-blind safety of the page's colours.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';

import {source} from './page.mjs';

describe('colours', () => {
  const text = source('web/modules/colours.js');
  const colours = (name) => text.match(new RegExp(`const ${name} = \\[([^\\]]*)\\]`))[1].match(/#[0-9a-f]{6}/g);
  const linear = (hex) =>
    [1, 3, 5]
      .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const luminance = (hex) => linear(hex).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const css = source('web/style/base.css');
  const styled = (block, name) => block.match(new RegExp(`--${name}: (#[0-9a-f]{6})`))[1];
  const [light, dark] = [css.slice(0, css.indexOf('@media screen')), css.slice(css.indexOf('@media screen'))];
  // Machado, Oliveira, Fernandes 2009, full severity.
  const sights = {
    usual: [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ],
    protanopia: [
      [0.152286, 1.052583, -0.204868],
      [0.114503, 0.786281, 0.099216],
      [-0.003882, -0.048116, 1.051998],
    ],
    deuteranopia: [
      [0.367322, 0.860646, -0.227968],
      [0.280085, 0.672501, 0.047413],
      [-0.01182, 0.04294, 0.968881],
    ],
    tritanopia: [
      [1.255528, -0.076749, -0.178779],
      [-0.078411, 0.930809, 0.147602],
      [0.004733, 0.691367, 0.3039],
    ],
  };
  const oklab = ([r, g, b]) => {
    const [l, m, s] = [
      0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b,
      0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
      0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b,
    ].map(Math.cbrt);
    return [
      0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
      1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
      0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
    ];
  };
  const seen = (hex, matrix) =>
    oklab(
      matrix.map((row) =>
        Math.min(
          1,
          Math.max(
            0,
            row.reduce((sum, weight, i) => sum + weight * linear(hex)[i], 0),
          ),
        ),
      ),
    );

  for (const [theme, name, block] of [
    ['light', 'LIGHT', light],
    ['dark', 'DARK', dark],
  ]) {
    test(`ten ${theme} colours are distinct under colour blindness and have contrast with the page`, () => {
      const palette = colours(name);
      assert.equal(palette.length, 10);
      for (const colour of palette) assert.ok(contrast(colour, styled(block, 'panel')) >= 3, `${colour} on the panel`);
      for (const [sight, matrix] of Object.entries(sights)) {
        palette.forEach((a, i) =>
          palette.slice(0, i).forEach((b) => {
            const distance = Math.hypot(...seen(a, matrix).map((value, axis) => value - seen(b, matrix)[axis]));
            assert.ok(distance >= 0.055, `${a} and ${b} are ${distance.toFixed(3)} apart under ${sight}`);
          }),
        );
      }
    });
    test(`${theme} text has a contrast of 4.5 on every background`, () => {
      for (const [ink, grounds] of Object.entries({
        ink: ['ground', 'panel', 'raised', 'sunken'],
        soft: ['ground', 'panel', 'raised', 'sunken'],
        accent: ['ground', 'panel', 'accent-wash'],
        'accent-ink': ['accent'],
        'right-ink': ['panel'],
        'wrong-ink': ['panel'],
      })) {
        for (const ground of grounds) {
          const value = contrast(styled(block, ink), styled(block, ground));
          assert.ok(value >= 4.5, `${ink} on ${ground}: ${value.toFixed(2)}`);
        }
      }
    });
  }
});
