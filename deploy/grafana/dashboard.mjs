// Makes the Grafana dashboard from `panels.mjs`: `node deploy/grafana/dashboard.mjs` writes `risk-data-service.json`, which Grafana imports.

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ROWS } from './panels.mjs';

/** The file that Grafana imports. */
export const FILE = fileURLToPath(new URL('risk-data-service.json', import.meta.url));

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };
/** Grafana's grid is 24 columns wide. */
const COLUMNS = 24;
const HEIGHT = 7;
const SIZES = { stat: 4, timeseries: 8 };

/** The dashboard as the text of its file. */
export function text() {
  return `${JSON.stringify(dashboard(), null, 2)}\n`;
}

function dashboard() {
  return {
    uid: 'risk-data-service',
    title: 'Risk Data Service',
    description: 'What origin/OPERATING.md calls its metrics. Made by deploy/grafana/dashboard.mjs.',
    tags: ['rds'],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'utc',
    templating: {
      list: [
        { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' },
        {
          name: 'instance',
          label: 'Origin',
          type: 'query',
          datasource: DATASOURCE,
          query: { query: 'label_values(rds_build_info, instance)', refId: 'instances' },
          refresh: 2,
          includeAll: true,
          multi: true,
          allValue: '.*',
          current: { text: 'All', value: '$__all' },
        },
      ],
    },
    panels: panels(),
  };
}

/** The rows with their panels, placed from left to right. */
function panels() {
  const made = [];
  let y = 0;
  for (const row of ROWS) {
    made.push({ id: made.length + 1, type: 'row', title: row.title, collapsed: false, gridPos: { x: 0, y, w: COLUMNS, h: 1 }, panels: [] });
    y += 1;
    let x = 0;
    for (const panel of row.panels) {
      const width = SIZES[panel.kind ?? 'timeseries'];
      if (x + width > COLUMNS) {
        x = 0;
        y += HEIGHT;
      }
      made.push(one(panel, made.length + 1, { x, y, w: width, h: HEIGHT }));
      x += width;
    }
    y += HEIGHT;
  }
  return made;
}

function one({ title, kind = 'timeseries', unit, red, look, exemplars = false, queries }, id, gridPos) {
  const steps = [{ color: 'green', value: null }, ...(red === undefined ? [] : [{ color: 'red', value: red }])];
  const custom = kind === 'timeseries' && red !== undefined ? { thresholdsStyle: { mode: 'dashed' } } : {};
  return {
    id,
    type: kind,
    title,
    description: `Runbook: origin/OPERATING.md#${look}`,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, thresholds: { mode: 'absolute', steps }, custom }, overrides: [] },
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat,
      exemplar: exemplars,
    })),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(FILE, text());
