// The alert rules: each parses as PromQL by Prometheus' own grammar and uses only metrics and labels that a running origin exports. Rules that
// combine several metrics are evaluated on sample values.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { repository } from './private-stack.mjs';
import { evaluate, parts } from './promql.mjs';
import { sharedStack } from './stack.mjs';

/** Labels of Prometheus itself, of other exporters, and of chains, which this stack does not read. */
const OTHER_LABELS = ['job', 'mountpoint', 'instance', 'chain', 'operator', 'kind'];

/** Metrics of other exporters on an operator's Prometheus. */
const FOREIGN_METRICS = [
  'up', 'probe_success', 'node_filesystem_avail_bytes', 'node_filesystem_size_bytes',
  // Of `rds-origin drill --textfile`.
  'rds_drill_ok', 'rds_drill_ended_seconds',
];

const stack = sharedStack();
const { groups } = parse(readFileSync(join(repository, 'origin/alerts.yml'), 'utf8'));
const rules = groups.flatMap((group) => group.rules);

describe('the alert rules', () => {
  let page;

  before(async () => {
    await stack.ok('/v1/vaults');
    page = (await stack.operate('/metrics')).text;
  });

  test('have distinct names', () => {
    assert.ok(rules.length > 30, `${rules.length}`);
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  });

  for (const { alert, expr, labels, annotations, ...rest } of rules) {
    test(`${alert} is valid PromQL over exported metrics and labels`, () => {
      const { metrics, labels: asked, errors } = parts(expr);
      assert.deepEqual(errors, [], expr);
      assert.ok(metrics.size > 0, expr);
      for (const metric of metrics) {
        const family = metric.replace(/_(bucket|sum|count)$/, '');
        assert.ok(FOREIGN_METRICS.includes(metric) || page.includes(`# TYPE ${metric} `) || page.includes(`# TYPE ${family} histogram`), metric);
      }
      for (const label of asked) {
        assert.ok(OTHER_LABELS.includes(label) || new RegExp(`[{,]${label}="`).test(page), `${label} in ${expr}`);
      }
      assert.ok(['page', 'ticket'].includes(labels.severity));
      assert.match(annotations.summary, /\.$/);
      assert.match(annotations.runbook, /^origin\/OPERATING\.md#[a-z-]+$/);
      assert.match(rest.for ?? '1m', /^\d+[mh]$/);
    });
  }

  test('name the instance in the summary exactly when the expression keeps that label', () => {
    for (const { alert, expr, annotations } of rules) {
      const named = annotations.summary.includes('$labels.instance');
      // An aggregation drops the label unless a `by` clause keeps it.
      const aggregates = /\b(sum|max|min|count)\b/.test(expr.replace(/on \(\) max\(.*?\)/g, ''));
      if (aggregates) assert.equal(/by \(instance\)/.test(expr), named, alert);
    }
  });

  test('take the greatest or least of all processes only where it does not matter which process says it', () => {
    const manual = readFileSync(join(repository, 'origin/OPERATING.md'), 'utf8');
    const alike = [...manual.matchAll(/^\| `(rds_[a-z_]+).*all alike.*$/gm)].map(([, name]) => name);
    assert.ok(alike.length > 10, `${alike}`);
    // The longest period that a process is configured with, and the process that heard of the edge last.
    const others = ['rds_score_run_every_seconds', 'rds_edge_heard_age_seconds'];
    for (const { alert, expr } of rules) {
      for (const [, metric] of expr.matchAll(/\b(?:max|min)\((?:deriv\()?(rds_[a-z_]+)/g)) {
        assert.ok(alike.includes(metric) || others.includes(metric), `${alert} says nothing of the process: ${metric}`);
      }
    }
  });

  test('are parsed well enough to find an unknown metric and a syntax error', () => {
    assert.deepEqual([...parts('sum(rate(rds_nothing_total{x="1"}[5m])) by (y) > 0').metrics], ['rds_nothing_total']);
    assert.notDeepEqual(parts('sum(rate(rds_db_up[5m]) > 0').errors, []);
  });
});

describe('the alerts', () => {
  /** The alerts among `names` that fire on these samples. */
  const firing = (samples, names) => names.filter((name) => evaluate(rules.find(({ alert }) => alert === name).expr, samples).length > 0);
  const NORMAL = 0;
  const DEGRADED = 1;
  const CLOSED = 2;

  describe('about score runs', () => {
    const NAMES = ['RdsScoreRunOverdue', 'RdsFailSafe'];
    const fired = (age, every, mode) =>
      firing([['rds_score_run_age_seconds', age], ['rds_score_run_every_seconds', every], ['rds_fail_safe_mode', mode]], NAMES);

    test('wait for three periods, whatever the period is', () => {
      assert.deepEqual(fired(5_500, 1_800, NORMAL), ['RdsScoreRunOverdue']);
      assert.deepEqual(fired(5_300, 1_800, NORMAL), []);
      assert.deepEqual(fired(5_500, 3_600, NORMAL), []);
    });

    test('do not fire where scheduled runs are switched off', () => assert.deepEqual(fired(1e6, 0, NORMAL), []));

    test('fire only for the fail-safe mode when that mode prevents runs from completing', () => {
      assert.deepEqual(fired(1e5, 1_800, DEGRADED), ['RdsFailSafe']);
      assert.deepEqual(fired(1e5, 1_800, CLOSED), ['RdsFailSafe']);
    });
  });

  test('about errors ignore only the 503s of the closed fail-safe mode', () => {
    const fires = (status, mode) =>
      firing([['rds_requests_total', 9, { status: '200' }], ['rds_requests_total', 1, { status }], ['rds_fail_safe_mode', mode]], ['RdsServerErrors']).length > 0;
    for (const status of ['500', '503', '504']) assert.ok(fires(status, NORMAL) && fires(status, DEGRADED), status);
    assert.ok(!fires('503', CLOSED), 'a closed fail-safe mode answers 503 on purpose');
    assert.ok(fires('500', CLOSED) && fires('504', CLOSED), 'other 5xx still count');
    assert.ok(!fires('404', NORMAL));
  });

  test('about the edge fire when its probe fails and when the prober itself does not answer', () => {
    const job = { job: 'rds-edge' };
    const fires = (...samples) => firing(samples, ['RdsEdgeDown']).length > 0;
    assert.ok(fires(['probe_success', 0, job], ['up', 1, job]) && fires(['up', 0, job]));
    assert.ok(!fires(['probe_success', 1, job], ['up', 1, job]));
  });
});
