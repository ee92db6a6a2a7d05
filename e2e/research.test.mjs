// The research routes of the running service: every row has its method and weaknesses, and nothing is published below its gates.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectError, expectShape } from './expect.mjs';
import { verb } from './operator.mjs';
import { count, flag, fraction, instant, listOf, nullable, oneOf, record, score, text } from './shape.mjs';
import { sharedStack, until } from './stack.mjs';

const stack = sharedStack();

const published = { id: text, published_at: instant, provided_by: nullable(text) };
const horizon = oneOf('7d', '30d', '90d');
const signal = oneOf('published_score', 'history_vector');
const outcome = oneOf('price_loss', 'incident');
const figure = { name: text, count, of: nullable(count), share: nullable(fraction) };
const preview = oneOf('preview');

const SHAPES = {
  'validation-reports': record({
    ...published, model_version: text, report_type: oneOf('coverage', 'discrimination', 'hindsight'), summary: text, method: text, weaknesses: listOf(text),
    figures: listOf(record(figure)),
    backtests: listOf(record({ signal, outcome, horizon, samples: count, losses: count, unmet: listOf(text) })),
  }),
  claims: record({
    ...published, level: oneOf('public', 'beta'), surface: text, statement: text, model_version: text, checked: count, violations: count,
    method: text, weaknesses: listOf(text),
  }),
  sources: record({
    ...published, source: text,
    kinds: listOf(record({ kind: text, rows: count, first_observed_at: instant, last_observed_at: instant })),
  }),
  predictions: record({
    id: text, vault_id: text, model_version: text, stage: preview, horizon, made_at: instant, due_at: instant, score,
    tier: oneOf('Prime', 'Core', 'Edge'), outcome: oneOf('pending', 'loss', 'no_loss', 'unobserved'), drawdown: nullable(fraction),
    resolved_at: nullable(instant), provided_by: nullable(text),
  }),
  backtests: record({
    ...published, model_version: text, signal, outcome, horizon, stage: preview,
    verdict: nullable(oneOf('lower_values_lost_more', 'no_difference_shown', 'higher_values_lost_more')),
    from: nullable(instant), to: nullable(instant), samples: count, losses: count, unobserved: count, repeated: count,
    broken_series: count, vaults: count, protocols: count, loss_vaults: count, grouped_by: oneOf('vault', 'protocol'), loss_groups: count,
    base_rate: nullable(fraction), auc: nullable(fraction), auc_low: nullable(fraction), auc_high: nullable(fraction),
    bands: listOf(record({ tier: oneOf('Prime', 'Core', 'Edge'), samples: count, losses: count })), method: text, weaknesses: listOf(text),
    samples_hash: text,
  }),
  'model-health': record({ ...published, model_version: text, stage: preview, ...figure, method: text }),
};

const list = async (name, query = '') => (await stack.ok(`/v1/research/${name}${query}`)).json;

describe('the research lists', () => {
  for (const [name, row] of Object.entries(SHAPES)) {
    test(`${name} have their shape, and an empty list gives the reason`, async () => {
      const answer = await stack.get(`/v1/research/${name}`);
      expectShape(answer, record({ data: listOf(row), meta: record({ limit: count, total: count, preview: flag, notice: nullable(text) }) }));
      const { data, meta } = answer.json;
      assert.equal(data.length, Math.min(meta.total, meta.limit));
      assert.equal(meta.preview, ['predictions', 'backtests', 'model-health'].includes(name));
      if (data.length === 0) assert.match(meta.notice, /No row is published yet/);
      if (meta.preview && data.length > 0) assert.match(meta.notice, /not investment guidance/);
    });
  }

  test("name the simulation as the source of the demo's vaults", async () => {
    const { data } = await list('sources');
    const simulation = data.find(({ source }) => source === 'simulation');
    assert.ok(simulation?.kinds.some(({ kind, rows }) => kind === 'vault' && rows >= 50), JSON.stringify(data.map((row) => row.source)));
  });

  test('contain only claims without violations', async () => {
    const { data } = await list('claims');
    assert.ok(data.length >= 3);
    for (const claim of data) assert.deepEqual([claim.violations, claim.checked > 0], [0, true], claim.statement);
  });

  test('count coverage as the vault list does', async () => {
    // The value is as of its run, and other tests have added vaults since the last run.
    await verb(stack, 'research', 'run');
    const { data } = await list('model-health');
    const coverage = data.find(({ name }) => name === 'score_coverage');
    const { vault_count: vaults } = (await stack.ok('/v1/stats')).json.data;
    assert.equal(coverage.of, vaults);
    assert.ok(Math.abs(coverage.share - coverage.count / coverage.of) < 1e-6);
  });

  test('contain predictions made before they are due', async () => {
    const { data } = await list('predictions', '?limit=100');
    assert.ok(data.length > 50);
    for (const row of data) assert.ok(row.made_at < row.due_at && (row.resolved_at === null) === (row.outcome === 'pending'), row.id);
  });

  test('refuse invalid parameters by name', async () => {
    for (const [query, name] of [['claims?level=x', 'level'], ['predictions?horizon=1d', 'horizon'], ['sources?limit=0', 'limit'], ['backtests?outcome=x', 'outcome']]) {
      const error = expectError(await stack.get(`/v1/research/${query}`), 400, 'INVALID_PARAMETER');
      assert.equal(error.details[0].name, name, query);
    }
  });

  test('omit a record that an operator hides, at once even in cached responses, and show it again', async () => {
    const claims = async () => (await list('claims')).data.map(({ id }) => id);
    const [first] = await claims();
    await verb(stack, 'research', 'hide', first, '--reason', 'under review');
    assert.ok(!(await claims()).includes(first));
    await verb(stack, 'research', 'show', first);
    await until('the record is back', 10, async () => (await claims()).includes(first));
    const records = await verb(stack, 'research', 'list');
    assert.ok(records.some((record) => !record.promoted && record.unmet.length > 0), 'operators see unpromoted records');
  });
});
