// One request is one trace: the edge, its call of the origin, the origin's handler and the SQL, under the id that the answer and the access line
// have.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { collector } from './otlp.mjs';
import { up } from './private-stack.mjs';
import { until } from './stack.mjs';

const OF_CALLER = '0af7651916cd43dd8448eb211c80319c';
const SPAN_OF_CALLER = 'b7ad6b7169203331';

describe('a stack with a collector', () => {
  let taken;
  let stack;

  before(async () => {
    taken = await collector();
    stack = await up('--traces', taken.url, '--data', 'demo');
  });
  after(async () => {
    await stack?.stop();
    await taken?.close();
  });

  /** The spans of a trace, once the edge's and the origin's have arrived. */
  const arrived = (trace) =>
    until(`spans of ${trace}`, 20, () => {
      const spans = taken.of(trace);
      return ['rds-edge', 'rds-origin'].every((name) => spans.some(({ service }) => service === name)) && spans;
    });

  test('shows a request from the edge to its SQL under the id of its answer', async () => {
    const { json } = await stack.ok('/v1/vaults?limit=1');
    const { headers } = await stack.ok(`/v1/vaults/${json.data[0].id}`, { headers: { authorization: `Bearer ${stack.keys.data}` } });
    const id = headers.get('x-request-id');
    const spans = await arrived(id);
    const named = (what, of) => spans.find(of) ?? assert.fail(`no ${what} in ${JSON.stringify(spans)}`);
    const edge = named('request at the edge', ({ service, kind }) => service === 'rds-edge' && kind === 2);
    const call = named('call of the origin', ({ parent }) => parent === edge.id);
    const origin = named('request at the origin', ({ parent }) => parent === call.id);
    const handler = named('handler', ({ parent, name }) => parent === origin.id && name === origin.attributes['http.route']);
    const statement = named('statement', ({ parent, attributes }) => parent === handler.id && attributes['db.query.text']);
    assert.match(statement.attributes['db.query.text'], /SELECT/i);
    assert.equal(origin.attributes['rds.request_id'], id);
    const line = await until('the access line', 10, () =>
      readFileSync(join(stack.state, 'logs/origin.log'), 'utf8')
        .split('\n')
        .find((it) => it.includes(id) && it.includes('"message":"request"')),
    );
    const { key, path } = JSON.parse(line);
    assert.deepEqual([key, path], [origin.attributes['rds.key'], origin.attributes['url.path']]);
    assert.ok(Number.isInteger(key));
  });

  test('shows what was answered from the cache as a request without a call', async () => {
    const { json } = await stack.ok('/v1/vaults?limit=2');
    const target = `/v1/vaults/${json.data[1].id}`;
    await stack.ok(target);
    const hit = await until('a cached response', 10, async () => {
      const answer = await stack.ok(target);
      return answer.headers.get('x-cache') === 'HIT' && answer;
    });
    const id = hit.headers.get('x-request-id');
    const spans = await until('its span', 20, () => taken.of(id).length > 0 && taken.of(id));
    assert.deepEqual(spans.map(({ service, attributes }) => [service, attributes['rds.cache']]), [['rds-edge', 'HIT']]);
  });

  test('joins the trace of a caller, under the id of its request as an attribute', async () => {
    const traceparent = `00-${OF_CALLER}-${SPAN_OF_CALLER}-01`;
    const { headers } = await stack.ok('/v1/me', { headers: { traceparent, authorization: `Bearer ${stack.keys.data}` } });
    const spans = await arrived(OF_CALLER);
    const edge = spans.find(({ service, kind }) => service === 'rds-edge' && kind === 2);
    assert.deepEqual([edge.parent, edge.attributes['rds.request_id']], [SPAN_OF_CALLER, headers.get('x-request-id')]);
  });

  test('traces the jobs: numbering of operations and their fan-out', async () => {
    await until('a numbered operation', 60, () => taken.spans.some(({ name, attributes }) => name === 'number operations' && attributes['rds.operations'] > 0));
  });

  test('sends no value of a parameter, no query string, no credential and no address', () => {
    const all = JSON.stringify(taken.spans);
    for (const hidden of [stack.keys.data, stack.admin_token, 'minTvl=', '2001:db8']) assert.ok(!all.includes(hidden), hidden);
  });
});
