// Charts of histories: what is drawn, what only the table has, and what is said without a history.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bundled } from './built.mjs';
import { problemsOf, textOf } from './html.mjs';

const { drawn } = await bundled(`
  import { renderToString } from 'preact-render-to-string';
  import { Chart } from './src/ui/chart.js';
  export const drawn = (series, marks) => renderToString(<><h1>Chart</h1><Chart title="History" series={series} marks={marks} /></>);
`);
const day = (n) => `2026-11-${String(n).padStart(2, '0')}T00:00:00.000Z`;
const series = (points, more = {}) => ({ name: 'Score', points, format: (value) => value.toFixed(2), ...more });
const chart = (...given) => {
  const html = drawn(...given);
  assert.deepEqual(problemsOf(html), []);
  return html;
};
const paths = (html) => [...html.matchAll(/<path d="([^"]*)"/g)].map(([, d]) => d);
const rightmost = (d) => Math.max(...[...d.matchAll(/[ML](-?[\d.]+),/g)].map(([, x]) => Number(x)));

test('a value that holds is drawn until the newest instant of the chart', () => {
  const html = chart([
    series([[day(1), 7]], { steps: true }),
    series(
      [
        [day(1), 1],
        [day(20), 2],
      ],
      { name: 'Value' },
    ),
  ]);
  const [score, value] = paths(html);
  assert.equal(rightmost(score), rightmost(value));
});

test('a gap is not drawn, and the table says it', () => {
  const html = chart([
    series([
      [day(1), 1],
      [day(2), null],
      [day(3), 2],
      [day(4), 3],
    ]),
  ]);
  const [drawn] = paths(html);
  assert.equal(drawn.match(/M/g).length, 2);
  assert.match(drawn, /^M8,[\d.]+ZM/, 'the point alone is a dot at the left edge');
  assert.ok(drawn.endsWith('L676,24.483'), `the highest value is at the right edge: ${drawn}`);
  assert.match(textOf(html), /2026-11-02 00:00 UTC unknown/);
});

test('what happened long before the series does not press them together, and is in the table', () => {
  const points = [
    [day(10), 1],
    [day(20), 2],
  ];
  const marks = [
    { at: '2020-01-01T00:00:00.000Z', label: 'Long ago' },
    { at: day(15), label: 'Within' },
    { at: day(25), label: 'After' },
  ];
  const html = chart([series(points)], marks);
  assert.equal(html.match(/class="happened"/g).length, 2);
  for (const label of ['Long ago', 'Within', 'After']) assert.ok(textOf(html).includes(label), label);
  assert.ok(rightmost(paths(html)[0]) > 300);
});

test('labels of the axis differ from each other, also for one instant and for hours', () => {
  for (const points of [
    [[day(1), 1]],
    [
      ['2026-11-01T00:00:00.000Z', 1],
      ['2026-11-01T05:00:00.000Z', 2],
    ],
    [
      [day(1), 1],
      [day(28), 2],
    ],
  ]) {
    const labels = [...chart([series(points)]).matchAll(/text-anchor="middle">([^<]*)</g)].map(([, label]) => label);
    assert.equal(new Set(labels).size, labels.length, labels.join());
  }
});

test('without a history the chart says so', () => {
  for (const points of [[], [[day(1), null]]])
    assert.match(textOf(chart([series(points)], [{ at: day(1), label: 'x' }])), /No history has been recorded yet\./);
});
