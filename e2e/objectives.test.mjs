// The objectives of `origin/slo.yml`: its rules use what a running origin exports, and its alerts fire for a disturbance that uses up the error budget,
// not for a short one, and end soon after it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { repository } from './private-stack.mjs';
import { evaluate, parts, record, samplesOf } from './promql.mjs';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
const MANUAL = readFileSync(join(repository, 'origin/OPERATING.md'), 'utf8');
const rules = parse(readFileSync(join(repository, 'origin/slo.yml'), 'utf8')).groups.flatMap((group) => group.rules);
const recorded = rules.filter((rule) => rule.record).map((rule) => rule.record);
const alerts = rules.filter((rule) => rule.alert);

const [MINUTE, HOUR] = [60, 3_600];

/**
 * The share of a window that a disturbance covers, as a function of the window's length: it lasted for `lasted` seconds and ended `ago` seconds
 * before now.
 */
const during = (lasted, ago = 0) => (window) => Math.max(0, Math.min(window, lasted + ago) - ago) / window;

/** The alerts that fire on these samples. */
function firing(samples) {
  const all = record(rules, samples);
  return alerts.filter(({ expr }) => evaluate(expr, all).length > 0).map(({ alert }) => alert);
}

describe('the rules of the objectives', () => {
  test('are valid PromQL over exported metrics and labels, and recorded series', async () => {
    await stack.ok('/v1/vaults');
    const page = (await stack.operate('/metrics')).text;
    for (const { expr } of rules) {
      const { metrics, labels, errors } = parts(expr);
      assert.deepEqual(errors, [], expr);
      assert.ok(metrics.size > 0, expr);
      for (const metric of metrics) {
        const family = metric.replace(/_(bucket|sum|count)$/, '');
        const isKnown = recorded.includes(metric) || page.includes(`# TYPE ${metric} `) || page.includes(`# TYPE ${family} histogram`);
        assert.ok(isKnown, `${metric} in ${expr}`);
      }
      for (const label of labels) assert.ok(new RegExp(`[{,]${label}="`).test(page), `${label} in ${expr}`);
    }
  });

  test('record a share for every window, under distinct names that say what and how', () => {
    assert.equal(new Set(recorded).size, recorded.length);
    for (const name of recorded) assert.match(name, /^rds:[a-z_]+:(bool|ratio_(rate|time)(5m|30m|1h|6h|3d))$/);
    assert.equal(recorded.length, 3 * 5 + 1);
    for (const { record: name, expr } of rules.filter((rule) => rule.record && !rule.record.endsWith(':bool'))) {
      const window = name.match(/(?:rate|time)(.*)$/)[1];
      assert.deepEqual([...new Set(expr.match(/\[\w+\]/g))], [`[${window}]`], name);
    }
  });

  test('have alerts with a severity, a summary and a runbook', () => {
    assert.equal(alerts.length, 6);
    for (const { alert, labels, annotations } of alerts) {
      assert.equal(labels.severity, alert.endsWith('Burns') ? 'page' : 'ticket', alert);
      assert.match(annotations.summary, /\.$/);
      assert.equal(annotations.runbook, 'origin/OPERATING.md#an-error-budget-burns');
    }
  });

  test('have the numbers of the table of objectives', () => {
    const rest = { availability: 0.001, freshness: 0.005, push: 0.01 };
    for (const [objective, budget] of Object.entries(rest)) {
      const [, percent] = MANUAL.match(new RegExp(`^\\| ${objective} \\|.*\\| ([0-9.]+) % of`, 'm'));
      assert.ok(Math.abs(1 - Number(percent) / 100 - budget) < 1e-9, objective);
      const mine = alerts.filter(({ alert }) => alert.toLowerCase().startsWith(`rds${objective}`));
      assert.equal(mine.length, 2, objective);
      for (const { alert, expr } of mine) assert.match(expr, new RegExp(`\\b${budget}\\b`), alert);
    }
    const steps = MANUAL.match(/at most 250 ms in each step of the service: (.*?) \|/)[1].replaceAll(/[`,]/g, '').split(' ');
    for (const rule of rules.filter(({ record: name }) => name?.startsWith('rds:push_late'))) {
      assert.deepEqual(new Set(rule.expr.match(/step=~"(.*?)"/g)), new Set([`step=~"${steps.join('|')}"`]));
      assert.match(rule.expr, /le="0\.25"/);
    }
  });
});

describe('the metrics of a running service', () => {
  let all;

  before(async () => {
    await stack.ok('/v1/vaults');
    const page = (await stack.operate('/metrics')).text;
    all = record(rules, samplesOf(page, { job: 'rds-origin', instance: 'origin-1:8790' }));
  });

  test('give every recorded series a value between 0 and the number of steps', () => {
    for (const name of recorded) {
      const found = all.filter(([series]) => series === name);
      assert.equal(found.length, 1, name);
      assert.ok(found[0][1] >= 0 && found[0][1] <= 6, `${name} ${found[0][1]}`);
    }
  });

  test('count what callers get: an answer of the origin and one of the edge itself', () => {
    const of = (by) => all.find(([name, , labels]) => name === 'rds_answers_total' && labels.by === by && labels.outcome === 'served');
    assert.ok(of('origin')[1] > 0);
    assert.ok(of('edge'));
  });
});

describe('availability', () => {
  /** A hundred answers a second, of which `share` failed in a disturbance. */
  const answers = (share, window) => [
    ['rds_answers_total', (range) => 100 * share * window(range), { by: 'origin', outcome: 'failed' }],
    ['rds_answers_total', (range) => 100 * (1 - share * window(range)), { by: 'edge', outcome: 'served' }],
  ];
  const fired = (share, window) => firing(answers(share, window));

  test('pages for an outage of a few minutes, and stops soon after it', () => {
    assert.deepEqual(fired(1, during(5 * MINUTE)), ['RdsAvailabilityBudgetBurns', 'RdsAvailabilityBudgetShrinks']);
    assert.ok(!fired(1, during(5 * MINUTE, 31 * MINUTE)).includes('RdsAvailabilityBudgetBurns'));
  });

  test('pages for a small share of failures only after hours', () => {
    assert.deepEqual(fired(0.01, during(HOUR)), []);
    assert.ok(fired(0.01, during(4 * HOUR)).includes('RdsAvailabilityBudgetBurns'));
  });

  test('is a matter for the morning if the budget is used up at the even rate', () => {
    assert.deepEqual(fired(0.0012, during(72 * HOUR)), ['RdsAvailabilityBudgetShrinks']);
    assert.deepEqual(fired(0.0008, during(72 * HOUR)), []);
  });

  test('is not judged by a single failure among few answers, nor without answers', () => {
    const few = [
      ['rds_answers_total', 0.5, { by: 'origin', outcome: 'failed' }],
      ['rds_answers_total', 5, { by: 'origin', outcome: 'served' }],
    ];
    assert.deepEqual(firing(few), []);
    assert.deepEqual(firing(few.map(([name, , labels]) => [name, 0, labels])), []);
    assert.deepEqual(firing([]), []);
  });
});

describe('freshness', () => {
  /** Readings and catalogs are old for the share of the time that `window` says; the age itself is only known now. */
  const fired = (window) => {
    const rest = rules.filter((rule) => rule.record !== 'rds:facts_old:bool');
    const all = record(rest, [['rds:facts_old:bool', window]]);
    return alerts.filter(({ expr }) => evaluate(expr, all).length > 0).map(({ alert }) => alert);
  };
  const isOld = (newest, catalog) => {
    const samples = [['rds_vault_newest_reading_age_seconds', 10, { instance: 'a' }], ['rds_catalog_age_seconds', 1, { instance: 'a' }]];
    samples.push(['rds_vault_newest_reading_age_seconds', newest, { instance: 'b' }], ['rds_catalog_age_seconds', catalog, { instance: 'b' }]);
    return record(rules, samples).find(([name]) => name === 'rds:facts_old:bool')[1];
  };

  test('is missed while one process has no new reading or an old catalog', () => {
    assert.deepEqual([isOld(5_399, 60), isOld(5_401, 1), isOld(10, 61), isOld(6_000, 100)], [0, 1, 1, 1]);
  });

  test('pages after minutes, and stops soon after', () => {
    assert.deepEqual(fired(during(3 * MINUTE)), []);
    assert.ok(fired(during(5 * MINUTE)).includes('RdsFreshnessBudgetBurns'));
    assert.deepEqual(fired(during(5 * MINUTE, 31 * MINUTE)), []);
  });
});

describe('push', () => {
  /** Ten operations a second; in each of the steps `share` of them are late while a disturbance lasts. */
  const fired = (late, window) => {
    const samples = [['rds_journal_numbered_total', 100]];
    for (const [step, share] of Object.entries(late)) {
      samples.push(['rds_push_step_seconds_count', 10, { step }]);
      samples.push(['rds_push_step_seconds_bucket', (range) => 10 * (1 - share * window(range)), { step, le: '0.25' }]);
    }
    return firing(samples);
  };

  test('adds up the steps of the service, and leaves out what subscribers delay', () => {
    assert.ok(fired({ commit: 0.1, number: 0.1, wake: 0 }, during(HOUR)).includes('RdsPushBudgetBurns'));
    assert.ok(!fired({ commit: 0.1, number: 0, wake: 0 }, during(HOUR)).includes('RdsPushBudgetBurns'));
    assert.deepEqual(fired({ commit: 0, write: 1, start: 1, attempt: 1 }, during(72 * HOUR)), []);
  });

  test('is not judged where a step never happens', () => {
    const idle = [['rds_push_step_seconds_count', 0, { step: 'read' }], ['rds_push_step_seconds_bucket', 0, { step: 'read', le: '0.25' }]];
    assert.deepEqual(firing(idle), []);
  });
});
