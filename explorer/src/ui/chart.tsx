// Charts of histories: several series over one time axis, each with a scale of its own, drawn as SVG, so that they need no JavaScript. A table
// beside each chart says the same.

import { utcTicks } from 'd3-time';
import type { JSX } from 'preact';
import { instant } from '../format.js';

/** A point of a series: an instant as ISO text, and a value or nothing. */
export type ChartPoint = readonly [string, number | null];

/** A series. */
export interface Series {
  name: string;
  points: readonly ChartPoint[];
  format: (value: number) => string;
  /** Fixed bounds of its scale. */
  bounds?: readonly [number, number];
  /** Whether a value holds until the next one. */
  steps?: boolean;
}

/** Something that happened at an instant. */
export interface Mark {
  at: string;
  label: string;
  href?: string | undefined;
}

const WIDTH = 760;
const HEIGHT = 120;
/** The space on the right is for the names of the highest and the lowest value. */
const [LEFT, RIGHT, TOP, BOTTOM] = [8, 84, 18, 8];

/** The series one below the other, with the marks across all of them. */
export function Chart({ title, series, marks = [] }: { title: string; series: readonly Series[]; marks?: readonly Mark[] }): JSX.Element {
  const drawn = series.filter(({ points }) => points.some(([, value]) => value !== null));
  const times = drawn.flatMap(({ points }) => points.map(([at]) => Date.parse(at))).filter(Number.isFinite);
  const [first, newest] = extent(times) ?? [];
  const last = newest === undefined ? undefined : Math.max(newest, ...marks.map(({ at }) => Date.parse(at)).filter(Number.isFinite));
  if (first === undefined || last === undefined || drawn.length === 0) return <p class="empty">No history has been recorded yet.</p>;
  const until = Math.max(last, first + 1);
  const x = linear([first, until], [LEFT, WIDTH - RIGHT]);
  const height = HEIGHT * drawn.length + 24;
  // What happened before the series begin stands in the table alone, so that it does not press them together.
  const within = marks.filter(({ at }) => Date.parse(at) >= first);
  const period = `from ${instant(new Date(first).toISOString())} to ${instant(new Date(last).toISOString())}`;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={`${title}: ${drawn.map(({ name }) => name).join(', ')}, ${period}`}>
        {within.map(({ at, label }, n) => (
          <g key={n} class="happened">
            <line x1={x(Date.parse(at))} x2={x(Date.parse(at))} y1={TOP} y2={height - 24} />
            <circle cx={x(Date.parse(at))} cy={height - 24} r="4" />
            <title>{`${instant(at)}: ${label}`}</title>
          </g>
        ))}
        {drawn.map((one, at) => (
          <g key={one.name} transform={`translate(0 ${at * HEIGHT})`} class={`series s${at}`}>
            <Curve series={one} x={x} end={new Date(last).toISOString()} />
          </g>
        ))}
        {ticksOf(utcTicks(new Date(first), new Date(until), 5)).map(([tick, label]) => (
          <text key={label} class="tick" x={x(tick.getTime())} y={height - 6} text-anchor="middle">
            {label}
          </text>
        ))}
      </svg>
      <figcaption class="hidden">{title}</figcaption>
      <details>
        <summary>The same as a table</summary>
        <Values title={title} series={drawn} marks={marks} />
      </details>
    </figure>
  );
}

/** The lowest and the highest of the numbers, if there are any. */
function extent(numbers: readonly number[]): [number, number] | undefined {
  return numbers.length > 0 ? [numbers.reduce((one, other) => Math.min(one, other)), numbers.reduce((one, other) => Math.max(one, other))] : undefined;
}

/** The linear function that takes the bounds `from` to the bounds `to`; the middle, if `from` has no extent. */
function linear(from: readonly [number, number], to: readonly [number, number]): (value: number) => number {
  const span = from[1] - from[0];
  return (value) => to[0] + (to[1] - to[0]) * (span === 0 ? 0.5 : (value - from[0]) / span);
}

/** The line through the points as the data of an SVG path; it is broken where a point is missing. */
export function pathOf(points: readonly (readonly [number, number] | null)[]): string {
  const rounded = (value: number): number => Math.round(value * 1000) / 1000;
  return points
    .map((point, at) => {
      if (!point) return '';
      const [x, y] = point.map(rounded);
      if (points[at - 1]) return `L${x},${y}`;
      // A point alone is drawn as a dot, if line ends are round.
      return points[at + 1] ? `M${x},${y}` : `M${x},${y}Z`;
    })
    .join('');
}

/** Instants with labels: days, or times of day where a day has several. Of equal labels, the first. */
function ticksOf(ticks: readonly Date[]): [Date, string][] {
  const texts = ticks.map((tick) => tick.toISOString());
  const isDays = new Set(texts.map((text) => text.slice(0, 10))).size === texts.length;
  const labels = new Map<string, Date>();
  for (const [at, tick] of ticks.entries()) {
    const text = texts[at] ?? '';
    const label = isDays ? text.slice(0, 10) : `${text.slice(5, 10)} ${text.slice(11, 16)}`;
    if (!labels.has(label)) labels.set(label, tick);
  }
  return [...labels].map(([label, tick]) => [tick, label]);
}

function Curve({ series, x, end }: { series: Series; x: (time: number) => number; end: string }): JSX.Element {
  const { name, points, format, bounds, steps } = series;
  const known = points.flatMap(([at, value]) => (value === null ? [] : [[Date.parse(at), value] as const]));
  const [low, high] = extent(known.map(([, value]) => value)) ?? [0, 1];
  const space = low === high ? Math.max(Math.abs(low) * 0.05, 1e-9) : (high - low) * 0.08;
  const y = linear([bounds?.[0] ?? low - space, bounds?.[1] ?? high + space], [HEIGHT - BOTTOM, TOP]);
  const drawn = (steps ? held(points, end) : points).map(([at, value]) => (value === null ? null : ([x(Date.parse(at)), y(value)] as const)));
  const latest = known.at(-1);
  return (
    <>
      <text class="name" x={LEFT} y={12}>
        {name}
        {latest ? `: ${format(latest[1])}` : ''}
      </text>
      <line class="base" x1={LEFT} x2={WIDTH - RIGHT} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM} />
      <path d={pathOf(drawn)} />
      {known.length === 1 && latest && <circle cx={x(latest[0])} cy={y(latest[1])} r="3" />}
      <text class="tick" x={WIDTH - RIGHT + 8} y={TOP + 4}>
        {format(high)}
      </text>
      <text class="tick" x={WIDTH - RIGHT + 8} y={HEIGHT - BOTTOM}>
        {format(low)}
      </text>
    </>
  );
}

/** Values that hold until the next one, the last until the end, as points. */
function held(points: readonly ChartPoint[], end: string): ChartPoint[] {
  const latest = points.at(-1);
  const all = latest ? [...points, [end, latest[1]] as const] : points;
  return all.flatMap((point, at) => {
    const before = all[at - 1];
    return before ? [[point[0], before[1]] as const, point] : [point];
  });
}

function Values({ title, series, marks }: { title: string; series: readonly Series[]; marks: readonly Mark[] }): JSX.Element {
  const rows = new Map<string, (string | undefined)[]>();
  const row = (at: string): (string | undefined)[] => {
    const found = rows.get(at) ?? [];
    rows.set(at, found);
    return found;
  };
  series.forEach(({ points, format }, column) => {
    for (const [at, value] of points) row(at)[column] = value === null ? 'unknown' : format(value);
  });
  for (const { at, label } of marks) row(at)[series.length] = [row(at)[series.length], label].filter(Boolean).join('; ');
  const sorted = [...rows].sort(([a], [b]) => Date.parse(b) - Date.parse(a));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={title}>
      <table>
        <caption class="hidden">{title}</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ name }) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
            {marks.length > 0 && <th scope="col">What happened</th>}
          </tr>
        </thead>
        <tbody>
          {sorted.map(([at, values]) => (
            <tr key={at}>
              <th scope="row">{instant(at)}</th>
              {series.map(({ name }, column) => (
                <td key={name} class="number">
                  {values[column] ?? ''}
                </td>
              ))}
              {marks.length > 0 && <td>{values[series.length] ?? ''}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
