// Causes and records pushed messages: bodies of webhook deliveries, and frames of the event stream.

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { createParser } from 'eventsource-parser';
import { BASKET, FAMILIES } from '../event-types.mjs';
import { bearer, verb } from '../operator.mjs';
import { OwnBasket } from '../own-basket.mjs';
import { ended, freePorts, serve } from '../private-stack.mjs';
import { until } from '../stack.mjs';

const HOUR = 3_600_000;

/** The service's clock; `at(before)` is the instant `before` milliseconds ago. */
async function clock(stack) {
  const answer = await stack.operate('/clock');
  const now = answer.status === 200 ? Date.parse(answer.json.now) : Date.now();
  return { at: (before) => new Date(now - before).toISOString() };
}

async function ingest(stack, ...lines) {
  const answer = await stack.operate('/ingest', { method: 'POST', body: lines.map((line) => JSON.stringify(line)).join('\n') });
  assert.equal(answer.status, 200, answer.text);
}

/** Publishes an event; returns its id. */
async function publish(stack) {
  const { at } = await clock(stack);
  const vault = (await stack.ok('/v1/vaults?limit=1')).json.data[0];
  const title = `Deposits moved to another market (${randomUUID().slice(0, 8)})`;
  await ingest(stack, {
    kind: 'event', observed_at: at(0), occurred_at: at(0), source: 'desk', event_key: `desk-${randomUUID()}`,
    event_type: 'AllocationChange', severity: 'Info', title, vault_ids: [vault.id],
  });
  const headers = bearer(stack.keys.decisioning);
  return until('the event is in the feed', 20, async () => {
    const { json } = await stack.ok(`/v1/events?search=${encodeURIComponent(`"${title}"`)}&limit=${1 + (Date.now() % 90)}`, { headers });
    return json.data.find((row) => row.title === title)?.id;
  });
}

/** Creates a vault that moves from the best asset into the worst, so that its score falls. */
async function downgrade(stack) {
  const { at } = await clock(stack);
  const name = `lend-${randomBytes(3).toString('hex')}`;
  const address = `0x${randomBytes(20).toString('hex')}`;
  const vault_id = `${name}-31337-${address}`;
  const assets = (await stack.ok('/v1/assets/enriched?limit=100', { headers: bearer(stack.keys.decisioning) })).json.data;
  const scored = assets.filter(({ risk_score: score }) => score !== null).toSorted((a, b) => b.risk_score - a.risk_score);
  const line = (kind, ago, fields) => ({ kind, observed_at: at(ago), source: 'desk', ...fields });
  const exposureLine = (ago, { symbol }) =>
    line('exposure', ago, { vault_id, status: 'observed', parts: [{ asset_id: symbol.toLowerCase(), share: 1, oracle: 'push_feed', lltv: 0.8 }] });
  await ingest(
    stack,
    line('protocol', 3 * HOUR, {
      id: name, name: 'Harbour Lend', version: 'v1', version_deployed_at: at(500 * 24 * HOUR), audits: 2, newest_audit_at: at(90 * 24 * HOUR),
      strategy: 'lending_pool', dependencies: [], tvl_usd: 5e8,
    }),
    line('vault', 3 * HOUR, {
      protocol_id: name, chain_id: 31337, address, name: 'Harbour Dollar', asset_symbol: 'HBD', asset_mode: 'holdings', deployed_at: at(400 * 24 * HOUR),
    }),
    exposureLine(3 * HOUR, scored.at(0)),
    line('vault_state', 2 * HOUR, { vault_id, tvl_usd: 5e8, utilization: 0.5, base_apr: 0.04, deposit_status: 'open', price_per_share: 1.01 }),
  );
  await ingest(stack, exposureLine(HOUR, scored.at(-1)));
}

/** Publishes a security event, as an editor does. */
async function report(stack) {
  const { at } = await clock(stack);
  const source_id = `case-${randomUUID()}`;
  await ingest(stack, {
    kind: 'security_event', observed_at: at(60_000), source: 'desk', source_id, title: 'A bridge paid out twice', severity: 'Warning', attacked_at: at(HOUR),
  });
  const drafts = await verb(stack, 'security', 'list', '--state', 'draft');
  await verb(stack, 'security', 'publish', String(drafts.find((draft) => draft.source_id === source_id).id));
}

/** The body of a delivery of each event type, by its name. */
export async function deliveries(stack, url) {
  const headers = bearer(stack.keys.decisioning);
  const found = new Map();
  const make = async (base, body) => {
    const made = await stack.post(base, body, headers);
    assert.equal(made.status, 200, made.text);
    return made.json.data.id;
  };
  /** Waits until a subscription has deliveries of all `wanted` types; keeps the oldest body of each, because the list is newest first. */
  const collect = (id, wanted) =>
    until(`${wanted} are delivered`, 60, async () => {
      const { json } = await stack.ok(`/v1/webhooks/${id}/deliveries?limit=50`, { headers });
      for (const { event_type: type, request } of json.data) found.set(type, bodyOf(request.curl));
      return wanted.every((type) => found.has(type));
    });
  const id = await make('/v1/webhooks', { url, families: FAMILIES });
  const id_of_event = await publish(stack);
  await verb(stack, 'events', 'retract', id_of_event, '--reason', 'The event belongs to another vault.');
  await downgrade(stack);
  await report(stack);
  await stack.post(`/v1/webhooks/${id}/test`, '', headers);
  await collect(id, [...FAMILIES, 'webhook.test']);
  await stack.get(`/v1/webhooks/${id}`, { method: 'DELETE', headers });
  return found;
}

/**
 * As `deliveries`, for the webhooks of a basket. The API does not list the deliveries of these webhooks, so `received` returns the bodies
 * that arrived at `url`. The basket must be new.
 */
export async function basketDeliveries(stack, url, received, id) {
  const headers = bearer(stack.keys.decisioning);
  const basket = await OwnBasket.create(stack, id);
  const follow = async (pinned_version_id) => {
    const made = await stack.post(basket.path('/webhooks'), { url, pinned_version_id }, headers);
    assert.equal(made.status, 200, made.text);
    return made.json.data.id;
  };
  const ids = [await follow(null), await follow(basket.version(1))];
  await basket.rebalance();
  await basket.say('deprecate', 1, 2);
  await basket.say('retire', 1, 2);
  const found = await until('the basket deliveries arrived', 60, () => {
    const bodies = new Map(received().map((body) => [body.event_type, body]));
    return BASKET.every((type) => bodies.has(type)) && bodies;
  });
  for (const id of ids) await stack.get(basket.path(`/webhooks/${id}`), { method: 'DELETE', headers });
  return found;
}

/** The body in the curl command of a delivery. */
function bodyOf(curl) {
  const quoted = curl.slice(curl.indexOf("--data-binary '") + "--data-binary '".length, -1);
  return JSON.parse(quoted.replaceAll("'\\''", "'"));
}

/** Reads parsed frames into `found`, by name, until `enough(found)` is true. */
async function read(url, headers, found, enough) {
  const abort = new AbortController();
  const response = await fetch(url, { headers, signal: abort.signal });
  assert.equal(response.status, 200);
  const parser = createParser({
    onEvent: ({ id, event, data }) => found.set(`stream.${event}`, { ...(id && { id }), event, data }),
  });
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      if (await enough(found)) return;
    }
  } finally {
    abort.abort();
  }
}

/** Stream frames by name: a replay requested with a cursor of the former format, the `draining` frame, and a `cursor` frame. */
export async function frames(stack) {
  const id = await publish(stack);
  await verb(stack, 'events', 'retract', id, '--reason', 'The event belongs to another vault.');
  const found = new Map();
  const headers = bearer(stack.keys.decisioning);
  const { href } = new URL('/v1/events/stream?since=1', stack.edge);
  await read(href, { ...headers, 'cf-connecting-ip': '2001:db8:77::1' }, found, () => found.has('stream.retracted') && found.has('stream.published'));
  await recordDraining(stack, headers, found);
  // A filter that excludes all events, so that only `cursor` frames arrive.
  await read(`${href}&vaultId=none`, { ...headers, 'cf-connecting-ip': '2001:db8:77::2' }, found, () => found.has('stream.cursor'));
  return found;
}

/** Records the `draining` frame of a second origin process, which no other client uses. */
async function recordDraining(stack, headers, found) {
  const first = await freePorts(3);
  const [edge, relay, admin] = [0, 1, 2].map((offset) => `127.0.0.1:${first + offset}`);
  const origin = serve(stack, { RDS_EDGE_ADDR: edge, RDS_RELAY_ADDR: relay, RDS_ADMIN_ADDR: admin });
  await until('the second origin answers', 60, async () => (await fetch(`http://${relay}/ready`)).status === 200);
  let end;
  await read(`http://${relay}/v1/events/stream`, headers, found, () => {
    end ??= ended(origin, 'SIGTERM');
    return found.has('stream.draining');
  });
  await end;
}
