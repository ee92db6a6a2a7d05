// The Grafana dashboard: the file is the one that its code makes, and every query gives series over the metrics of a running origin, with the labels
// that its legend names.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { FILE, text } from '../deploy/grafana/dashboard.mjs';
import { ROWS } from '../deploy/grafana/panels.mjs';
import { repository } from './private-stack.mjs';
import { evaluate, parts, record, samplesOf } from './promql.mjs';
import { sharedStack, until } from './stack.mjs';

const stack = sharedStack();
const rules = parse(readFileSync(join(repository, 'origin/slo.yml'), 'utf8')).groups.flatMap((group) => group.rules);
const recorded = rules.filter((rule) => rule.record).map((rule) => rule.record);
const dashboard = JSON.parse(readFileSync(FILE, 'utf8'));
const shown = dashboard.panels.filter(({ type }) => type !== 'row');
/** Titles of panels about chains that are read and about other exporters, which this stack does not have. */
const elsewhere = ROWS.flatMap(({ panels }) => panels).filter((panel) => panel.elsewhere).map(({ title }) => title);
/** Labels and metrics that Prometheus, other exporters and the reading of chains add. */
const OTHER_LABELS = ['job', 'instance', 'mountpoint', 'chain', 'operator', 'kind', 'reason'];
const OTHER_METRICS = ['node_filesystem_avail_bytes', 'node_filesystem_size_bytes'];
/** Counters whose series appear with their first event. */
const APPEAR_LATER = ['Refused before they were known', 'Gaps', 'Updates of the replica'];

/** A query as Grafana sends it, with all origins selected. */
const asSent = (expr) => expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '5m');

describe('the dashboard', () => {
  let page;
  let samples;

  before(async () => {
    await stack.ok('/v1/vaults');
    const scraped = async () => {
      page = (await stack.operate('/metrics')).text;
      samples = record(rules, samplesOf(page, { job: 'rds-origin', instance: 'origin-1:8790' }));
      return recorded.every((name) => samples.some(([series]) => series === name));
    };
    await until('every objective has a value', 30, scraped);
  });

  test('is the file that its code makes', () => {
    assert.equal(readFileSync(FILE, 'utf8'), text(), 'run `node deploy/grafana/dashboard.mjs`');
  });

  test('leads from every panel to a runbook, and shows every objective', () => {
    const manual = readFileSync(join(repository, 'origin/OPERATING.md'), 'utf8');
    const anchors = [...manual.matchAll(/^###? (.*)$/gm)].map(([, heading]) => heading.toLowerCase().replaceAll(' ', '-').replaceAll(/[^a-z0-9-]/g, ''));
    for (const { title, description } of shown) {
      const anchor = description.match(/^Runbook: origin\/OPERATING\.md#([a-z-]+)$/)?.[1];
      assert.ok(anchors.includes(anchor), `${title}: ${description}`);
    }
    const queries = shown.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n');
    for (const name of ['rds:answers_failed:', 'rds:facts_old:', 'rds:push_late:']) assert.ok(queries.includes(name), name);
  });

  test('places no panel over another and none beyond the 24 columns', () => {
    const cells = new Set();
    for (const { title, gridPos: { x, y, w, h } } of dashboard.panels) {
      assert.ok(x >= 0 && x + w <= 24, title);
      for (let column = x; column < x + w; column += 1) {
        for (let line = y; line < y + h; line += 1) {
          assert.ok(!cells.has(`${column},${line}`), title);
          cells.add(`${column},${line}`);
        }
      }
    }
    assert.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
  });

  test('finds a query that names a metric or a label that does not exist', () => {
    assert.throws(() => check('rds_no_such_metric', ''), /rds_no_such_metric/);
    assert.throws(() => check('sum by (colour) (rds_db_up)', ''), /colour/);
    assert.throws(() => check('sum(rds_db_up)', '{{instance}}'), /instance/);
  });

  for (const { title, targets } of shown) {
    test(`${title}: its queries give series with the labels of their legends`, () => {
      assert.ok(targets.length > 0);
      for (const { expr, legendFormat } of targets) {
        const isOptional = elsewhere.includes(title) || APPEAR_LATER.includes(title);
        const found = check(asSent(expr), legendFormat);
        assert.ok(found.length > 0 || isOptional, `no series: ${expr}`);
      }
    });
  }

  /** The series of a query, all of whose metrics and labels exist. */
  function check(expr, legend) {
    const { metrics, labels, errors } = parts(expr);
    assert.deepEqual(errors, [], expr);
    for (const metric of metrics) {
      const family = metric.replace(/_(bucket|sum|count)$/, '');
      const isOurs = page.includes(`# TYPE ${metric} `) || page.includes(`# TYPE ${family} histogram`) || recorded.includes(metric);
      assert.ok(isOurs || OTHER_METRICS.includes(metric), `${metric} in ${expr}`);
    }
    for (const label of labels) {
      assert.ok(OTHER_LABELS.includes(label) || new RegExp(`[{,]${label}="`).test(page), `${label} in ${expr}`);
    }
    const found = evaluate(expr, samples);
    for (const [, label] of legend.matchAll(/\{\{(\w+)\}\}/g)) {
      for (const one of found) assert.ok(label in one.labels, `the legend names ${label}, which ${expr} does not keep`);
    }
    return found;
  }
});
