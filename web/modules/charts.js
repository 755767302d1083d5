// Line and bar charts: a figure with a caption, the canvas, a keyboard-accessible legend, and a data table.
//
// Chart.js draws the canvas; it is the page's only third-party code. Everything else is HTML, so that it works with
// screen readers, text search and printing.
import {chosen, choose} from './choices.js';
import {drawing, element, scrollBox, visibleText} from './dom.js';
import {plainNumber} from './format.js';
import {coloursChanged, onColours, seriesColour, seriesDash, styleColour} from './colours.js';

/** @type {any} */
const ChartJs = /** @type {any} */ (globalThis).Chart;

/**
 * One line, or one bar per category.
 * @typedef {object} Series
 * @property {string} name
 * @property {(number | null | undefined)[]} values  one per category; null is a gap
 * @property {number} colour  index into the colours
 * @property {boolean} [dashed]  for references and alternatives
 * @property {boolean} [thick]
 * @property {(number | null | undefined)[]} [deviations]  drawn as whiskers
 */

/**
 * @typedef {object} ChartSpec
 * @property {string} id
 * @property {string} title
 * @property {string} note  one sentence on how to read the chart
 * @property {'line' | 'bar'} type
 * @property {(string | number)[]} categories  rounds, methods, ...
 * @property {string} categoryTitle
 * @property {Series[]} series
 * @property {string} valuesTitle  with the unit
 * @property {(value: number) => string} format
 * @property {(value: number) => string} [tick]
 * @property {number} [max]
 * @property {boolean} [legend]  also of a single series
 * @property {boolean} [stacked]
 * @property {boolean} [horizontal]
 * @property {'wide'} [width]
 * @property {number} [height]  in pixels, if not the default
 */

/** @type {(() => void)[]} */
const awaiting = [];

/** @type {{chart: any, paint: () => void}[]} */
const drawn = [];

/**
 * Returns the figure. drawCharts() draws its chart once the figure is in the page.
 * @param {ChartSpec} spec
 */
export function chartFigure(spec) {
  const canvas = element('canvas', {role: 'img', 'aria-label': spokenChart(spec)});
  const plot = element('div', {class: 'plot'}, canvas);
  if (spec.height) plot.style.height = `${spec.height}px`;
  const figure = element(
    'figure',
    {class: `chart ${spec.width ?? ''}`, id: spec.id},
    element('figcaption', {}, element('h3', {}, spec.title), element('p', {}, spec.note)),
  );
  const legend = element('div', {class: 'legend', role: 'group', 'aria-label': `Show in ${spec.title}`});
  if (spec.series.length > 1 || spec.legend) figure.append(legend);
  figure.append(plot, dataTable(spec));
  awaiting.push(() => drawChart(spec, canvas, legend));
  return figure;
}

/** Draws the charts that are new in the page and destroys those that were removed from it. */
export function drawCharts() {
  for (const gone of drawn.filter(({chart}) => !chart.canvas.isConnected)) {
    gone.chart.destroy();
    drawn.splice(drawn.indexOf(gone), 1);
  }
  for (const draw of awaiting.splice(0)) draw();
}

onColours(() => {
  for (const {chart, paint} of drawn) {
    paint();
    chart.update('none');
  }
});

/**
 * @param {ChartSpec} spec
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLElement} legend
 */
function drawChart(spec, canvas, legend) {
  if (!ChartJs) {
    canvas.replaceWith(element('p', {}, 'No chart: the program was built without Chart.js.'));
    return;
  }
  const key = `hidden:${spec.id}`;
  const hidden = new Set(chosen(key, /** @type {string[]} */ ([])));
  const [valueAxis, categoryAxis] = spec.horizontal ? ['x', 'y'] : ['y', 'x'];
  const chart = new ChartJs(canvas, {
    type: spec.type,
    data: {
      labels: spec.categories.map((category) => visibleText(String(category))),
      datasets: spec.series.map((series) => datasetOf(spec, series, hidden.has(series.name))),
    },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      indexAxis: categoryAxis,
      interaction: {mode: 'index', axis: categoryAxis, intersect: false},
      layout: {padding: {top: 6, right: 6}},
      plugins: {
        legend: {display: false},
        tooltip: {
          boxPadding: 5,
          padding: 10,
          cornerRadius: 6,
          usePointStyle: true,
          callbacks: {
            title: (/** @type {any[]} */ items) => `${spec.categoryTitle} ${items[0].label}`,
            label: (/** @type {any} */ item) =>
              ` ${item.dataset.label}: ${spec.format(item.parsed[valueAxis])}${deviationOf(spec, item)}`,
          },
        },
      },
      scales: {
        [categoryAxis]: {
          stacked: spec.stacked,
          grid: {display: false},
          title: {display: !spec.horizontal, text: spec.categoryTitle},
          ticks: {maxRotation: 0, autoSkip: !spec.horizontal, autoSkipPadding: 12},
        },
        [valueAxis]: {
          stacked: spec.stacked,
          beginAtZero: true,
          max: spec.max,
          title: {display: true, text: spec.valuesTitle},
          ticks: {
            maxTicksLimit: 6,
            padding: 8,
            callback: (/** @type {number} */ value) => (spec.tick ?? plainNumber)(value),
          },
          grid: {drawTicks: false},
          border: {display: false},
        },
      },
    },
    plugins: [whiskers(spec)],
  });
  const paint = () => paintChart(chart, valueAxis, categoryAxis);
  paint();
  chart.update('none');
  drawn.push({chart, paint});

  spec.series.forEach((series, index) => {
    const button = element(
      'button',
      {type: 'button', 'aria-pressed': String(!hidden.has(series.name))},
      sample(spec, series),
      series.name,
    );
    button.addEventListener('click', () => {
      const show = hidden.delete(series.name);
      if (!show) hidden.add(series.name);
      chart.setDatasetVisibility(index, show);
      chart.data.datasets[index].hidden = !show;
      chart.update('none');
      button.setAttribute('aria-pressed', String(show));
      choose(key, [...hidden]);
    });
    legend.append(button);
  });
}

/**
 * @param {ChartSpec} spec
 * @param {Series} series
 * @param {boolean} hidden
 */
function datasetOf(spec, series, hidden) {
  const colour = () => seriesColour(series.colour);
  const common = {
    label: visibleText(series.name),
    data: series.values.map((value) => value ?? null),
    hidden,
    borderColor: colour,
    backgroundColor: () => (spec.type === 'bar' && series.dashed ? `${colour()}59` : colour()),
  };
  if (spec.type === 'bar')
    return {
      ...common,
      borderWidth: 0,
      borderRadius: spec.stacked ? 0 : 2,
      maxBarThickness: 36,
      categoryPercentage: 0.72,
      barPercentage: 0.92,
    };
  const marked = series.values.length <= 24 && !series.dashed;
  return {
    ...common,
    borderWidth: series.thick ? 3 : 2,
    borderDash: series.dashed ? [5, 4] : seriesDash(series.colour),
    pointRadius: marked ? 3 : 0,
    pointHoverRadius: 5,
    pointHitRadius: 10,
    pointBorderWidth: 0,
    pointBackgroundColor: colour,
    tension: 0,
    spanGaps: false,
  };
}

/**
 * @param {any} chart
 * @param {string} valueAxis
 * @param {string} categoryAxis
 */
function paintChart(chart, valueAxis, categoryAxis) {
  const [ink, soft, line] = [styleColour('ink'), styleColour('soft'), styleColour('line')];
  const font = {family: getComputedStyle(document.body).fontFamily, size: 12};
  for (const axis of [valueAxis, categoryAxis]) {
    const scale = chart.options.scales[axis];
    Object.assign(scale.ticks, {color: soft, font});
    Object.assign(scale.title, {color: soft, font});
  }
  // Emphasise the zero line, on which the bars stand.
  chart.options.scales[valueAxis].grid.color = (/** @type {any} */ context) =>
    context.tick?.value === 0 ? soft : line;
  Object.assign(chart.options.scales[categoryAxis].grid, {borderColor: 'transparent'});
  Object.assign(chart.options.scales[valueAxis].grid, {borderColor: 'transparent'});
  Object.assign(chart.options.plugins.tooltip, {
    backgroundColor: styleColour('raised'),
    titleColor: ink,
    bodyColor: ink,
    borderColor: line,
    borderWidth: 1,
    titleFont: {...font, weight: '600'},
    bodyFont: font,
  });
}

/**
 * @param {ChartSpec} spec
 * @param {any} item
 */
function deviationOf(spec, item) {
  const deviation = spec.series[item.datasetIndex].deviations?.[item.dataIndex];
  return typeof deviation === 'number' ? ` ± ${spec.format(deviation)}` : '';
}

/**
 * Chart.js plugin that draws deviations over the bars.
 * @param {ChartSpec} spec
 */
function whiskers(spec) {
  return {
    id: 'whiskers',
    afterDatasetsDraw(/** @type {any} */ chart) {
      const context = /** @type {CanvasRenderingContext2D} */ (chart.ctx);
      context.save();
      context.strokeStyle = styleColour('ink');
      context.lineWidth = 1.25;
      spec.series.forEach((series, index) => {
        if (!series.deviations || !chart.isDatasetVisible(index)) return;
        chart.getDatasetMeta(index).data.forEach((/** @type {any} */ bar, /** @type {number} */ position) => {
          const [value, deviation] = [series.values[position], series.deviations?.[position]];
          if (typeof value !== 'number' || typeof deviation !== 'number') return;
          const scale = spec.horizontal ? chart.scales.x : chart.scales.y;
          const [low, high] = [scale.getPixelForValue(value - deviation), scale.getPixelForValue(value + deviation)];
          context.beginPath();
          for (const [from, fromSide, to, toSide] of [
            [low, 0, high, 0],
            [low, -3, low, 3],
            [high, -3, high, 3],
          ]) {
            if (spec.horizontal) {
              context.moveTo(from, bar.y + fromSide);
              context.lineTo(to, bar.y + toSide);
            } else {
              context.moveTo(bar.x + fromSide, from);
              context.lineTo(bar.x + toSide, to);
            }
          }
          context.stroke();
        });
      });
      context.restore();
    },
  };
}

/**
 * A sample of the line or bar, for the legend.
 * @param {ChartSpec} spec
 * @param {Series} series
 */
function sample(spec, series) {
  const mark =
    spec.type === 'bar'
      ? drawing('rect', {x: 5, y: 1, width: 12, height: 10, rx: 2, 'fill-opacity': series.dashed ? 0.35 : 1})
      : drawing('line', {
          x1: 0,
          x2: 22,
          y1: 6,
          y2: 6,
          'stroke-width': series.thick ? 3 : 2,
          'stroke-dasharray': series.dashed ? '5 4' : seriesDash(series.colour).join(' ') || null,
        });
  const paint = () => mark.setAttribute(spec.type === 'bar' ? 'fill' : 'stroke', seriesColour(series.colour));
  paint();
  onColours(paint);
  return drawing('svg', {width: 22, height: 12, viewBox: '0 0 22 12', 'aria-hidden': 'true'}, mark);
}

/**
 * The data of the chart as a collapsible table.
 * @param {ChartSpec} spec
 */
function dataTable(spec) {
  const details = element('details', {class: 'figures'}, element('summary', {}, 'Data table'));
  // Built when first opened: a page has about fifteen of them.
  details.addEventListener('toggle', () => {
    choose(`open:${spec.id}`, details.open);
    if (details.childElementCount > 1) return;
    const head = element(
      'tr',
      {},
      element('th', {scope: 'col'}, spec.categoryTitle),
      ...spec.series.map((series) => element('th', {scope: 'col'}, series.name)),
    );
    const body = element('tbody');
    spec.categories.forEach((category, index) => {
      const cells = spec.series.map((series) => {
        const value = series.values[index];
        return element('td', {}, typeof value === 'number' ? spec.format(value) : '–');
      });
      body.append(element('tr', {}, element('th', {scope: 'row'}, category), ...cells));
    });
    details.append(
      scrollBox(
        `Data of ${spec.title}`,
        'low',
        element(
          'table',
          {class: 'plain'},
          element('caption', {class: 'unseen'}, `${spec.title}, ${spec.valuesTitle}`),
          element('thead', {}, head),
          body,
        ),
      ),
    );
  });
  details.open = chosen(`open:${spec.id}`, false);
  return details;
}

/** @param {ChartSpec} spec */
function spokenChart(spec) {
  const lines = spec.series.map((series) => {
    const values = series.values.filter((value) => typeof value === 'number');
    if (values.length === 0) return `${series.name}: no data`;
    const [first, last] = [/** @type {number} */ (values[0]), /** @type {number} */ (values[values.length - 1])];
    return spec.type === 'line'
      ? `${series.name} from ${spec.format(first)} to ${spec.format(last)}`
      : `${series.name}: ${values.length} bars`;
  });
  return `${spec.title}: ${lines.join('; ')}. The data follows as a table.`;
}

// Printing changes the width, which Chart.js does not notice by itself.
addEventListener('beforeprint', () => {
  coloursChanged();
  for (const {chart} of drawn) chart.resize();
});
addEventListener('afterprint', () => {
  coloursChanged();
  for (const {chart} of drawn) chart.resize();
});
