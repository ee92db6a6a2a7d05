// The alert rules: each is PromQL by Prometheus' own grammar, and asks for metrics and labels that a running origin shows. Those that
// look at several things at once are evaluated over what an operator might see.

import { parser } from '@prometheus-io/lezer-promql';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { repository } from './private-stack.mjs';
import { evaluate } from './promql.mjs';
import { sharedStack } from './stack.mjs';

/** What other programs on an operator's Prometheus show. */
const OF_OTHERS = ['up', 'probe_success', 'node_filesystem_avail_bytes', 'node_filesystem_size_bytes'];

const stack = sharedStack();
const { groups } = parse(readFileSync(join(repository, 'origin/alerts.yml'), 'utf8'));
const rules = groups.flatMap((group) => group.rules);

/** What an expression is made of: names of metrics, and those of labels in its selectors and groupings. */
function parts(expression) {
  const found = { metrics: new Set(), labels: new Set(), errors: [] };
  parser.parse(expression).iterate({
    enter(node) {
      const text = expression.slice(node.from, node.to);
      if (node.type.isError) found.errors.push(`at ${node.from}`);
      if (node.name === 'Identifier') found.metrics.add(text);
      if (node.name === 'LabelName') found.labels.add(text);
    },
  });
  return found;
}

describe('the alert rules', () => {
  let page;

  before(async () => {
    await stack.ok('/v1/vaults');
    page = (await stack.operate('/metrics')).text;
  });

  test('are there, each under a name of its own', () => {
    assert.ok(rules.length > 30, `${rules.length}`);
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  });

  for (const { alert, expr, labels, annotations, ...rest } of rules) {
    test(`${alert} is PromQL over what is there`, () => {
      const { metrics, labels: asked, errors } = parts(expr);
      assert.deepEqual(errors, [], expr);
      assert.ok(metrics.size > 0, expr);
      for (const metric of metrics) {
        const family = metric.replace(/_(bucket|sum|count)$/, '');
        assert.ok(OF_OTHERS.includes(metric) || page.includes(`# TYPE ${metric} `) || page.includes(`# TYPE ${family} histogram`), metric);
      }
      for (const label of asked) {
        assert.ok(['job', 'mountpoint', 'instance'].includes(label) || new RegExp(`[{,]${label}="`).test(page), `${label} in ${expr}`);
      }
      assert.ok(['page', 'ticket'].includes(labels.severity));
      assert.match(annotations.summary, /\.$/);
      assert.match(annotations.runbook, /^origin\/OPERATING\.md#[a-z-]+$/);
      assert.match(rest.for ?? '1m', /^\d+[mh]$/);
    });
  }

  test('that speak of a machine say which one, and the others do not ask for it', () => {
    for (const { alert, expr, annotations } of rules) {
      const named = annotations.summary.includes('$labels.instance');
      // An aggregation drops the label unless it is kept by name.
      const aggregates = /\b(sum|max|min|count)\b/.test(expr.replace(/on \(\) max\(.*?\)/g, ''));
      if (aggregates) assert.equal(/by \(instance\)/.test(expr), named, alert);
    }
    for (const alert of ['RdsClockOff', 'RdsWritesRefused', 'RdsAssertionsRefused', 'RdsEdgeBehind']) {
      assert.ok(rules.find((rule) => rule.alert === alert).annotations.summary.includes('$labels.instance'), alert);
    }
  });

  test('would not be noticed if they asked for what is not there', () => {
    assert.deepEqual([...parts('sum(rate(rds_nothing_total{x="1"}[5m])) by (y) > 0').metrics], ['rds_nothing_total']);
    assert.notDeepEqual(parts('sum(rate(rds_db_up[5m]) > 0').errors, []);
  });
});

describe('the alerts', () => {
  /** The names of the alerts that these samples set off, of those asked about. */
  const ringing = (samples, names) => names.filter((name) => evaluate(rules.find(({ alert }) => alert === name).expr, samples).length > 0);
  const NORMAL = 0;
  const DEGRADED = 1;
  const CLOSED = 2;

  describe('about score runs', () => {
    const NAMES = ['RdsScoreRunOverdue', 'RdsFailSafe'];
    const told = (age, every, mode) =>
      ringing([['rds_score_run_age_seconds', age], ['rds_score_run_every_seconds', every], ['rds_fail_safe_mode', mode]], NAMES);

    test('wait for three periods, whatever the period is', () => {
      assert.deepEqual(told(5_500, 1_800, NORMAL), ['RdsScoreRunOverdue']);
      assert.deepEqual(told(5_300, 1_800, NORMAL), []);
      assert.deepEqual(told(5_500, 3_600, NORMAL), []);
    });

    test('are silent where no run is made by itself', () => assert.deepEqual(told(1e6, 0, NORMAL), []));

    test('do not ring twice for a mode in which no run completes', () => {
      assert.deepEqual(told(1e5, 1_800, DEGRADED), ['RdsFailSafe']);
      assert.deepEqual(told(1e5, 1_800, CLOSED), ['RdsFailSafe']);
    });
  });

  test('about errors leave out what is refused on purpose, and nothing else', () => {
    const told = (status, mode) =>
      ringing([['rds_requests_total', 9, { status: '200' }], ['rds_requests_total', 1, { status }], ['rds_fail_safe_mode', mode]], ['RdsServerErrors']).length > 0;
    for (const status of ['500', '503', '504']) assert.ok(told(status, NORMAL) && told(status, DEGRADED), status);
    assert.ok(!told('503', CLOSED), 'scores are closed');
    assert.ok(told('500', CLOSED) && told('504', CLOSED), 'a fault stays a fault');
    assert.ok(!told('404', NORMAL));
  });

  test('about the edge ring when its probe fails and when the prober itself does not answer', () => {
    const job = { job: 'rds-edge' };
    const told = (...samples) => ringing(samples, ['RdsEdgeDown']).length > 0;
    assert.ok(told(['probe_success', 0, job], ['up', 1, job]) && told(['up', 0, job]));
    assert.ok(!told(['probe_success', 1, job], ['up', 1, job]));
  });
});
