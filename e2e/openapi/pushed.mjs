// What the service pushes, provoked and caught: bodies of webhook deliveries, and frames of the event stream.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createParser } from 'eventsource-parser';
import { bearer, verb } from '../operator.mjs';
import { until } from '../stack.mjs';

const FAMILIES = ['event.published', 'event.retracted', 'rating.changed', 'security_event.published'];

/** An event that becomes public now; its id. */
async function publish(stack) {
  const now = new Date().toISOString();
  const vault = (await stack.ok('/v1/vaults?limit=1')).json.data[0];
  const title = `Deposits moved to another market (${randomUUID().slice(0, 8)})`;
  const line = {
    kind: 'event', observed_at: now, occurred_at: now, source: 'desk', event_key: `desk-${randomUUID()}`,
    event_type: 'AllocationChange', severity: 'Info', title, vault_ids: [vault.id],
  };
  const answer = await stack.operate('/ingest', { method: 'POST', body: JSON.stringify(line) });
  assert.equal(answer.status, 200, answer.text);
  const headers = bearer(stack.keys.decisioning);
  return until('the event is in the feed', 20, async () => {
    const { json } = await stack.ok(`/v1/events?search=${encodeURIComponent(`"${title}"`)}&limit=${1 + (Date.now() % 90)}`, { headers });
    return json.data.find((row) => row.title === title)?.id;
  });
}

/** Name to body of deliveries that were made: those that a plain stack can be brought to make. */
export async function deliveries(stack, url) {
  const headers = bearer(stack.keys.decisioning);
  const made = await stack.post('/v1/webhooks', { url, families: FAMILIES }, headers);
  assert.equal(made.status, 200, made.text);
  const { id } = made.json.data;
  const id_of_event = await publish(stack);
  await verb(stack, 'events', 'retract', id_of_event, '--reason', 'It was told of another vault.');
  await stack.post(`/v1/webhooks/${id}/test`, '', headers);
  const wanted = ['event.published', 'event.retracted', 'webhook.test'];
  const found = new Map();
  await until('the deliveries are listed', 30, async () => {
    const { json } = await stack.ok(`/v1/webhooks/${id}/deliveries?limit=50`, { headers });
    for (const { event_type: type, request } of json.data) found.set(type, bodyOf(request.curl));
    return wanted.every((type) => found.has(type));
  });
  await stack.get(`/v1/webhooks/${id}`, { method: 'DELETE', headers });
  return found;
}

/** The body inside the command line that repeats a delivery. */
function bodyOf(curl) {
  const quoted = curl.slice(curl.indexOf("--data-binary '") + "--data-binary '".length, -1);
  return JSON.parse(quoted.replaceAll("'\\''", "'"));
}

/** Name to frame, as a parser gives it: from the beginning of what is retained, by a cursor of the former kind. */
export async function frames(stack) {
  await publish(stack);
  const hangUp = new AbortController();
  const response = await fetch(new URL('/v1/events/stream?since=1', stack.edge), {
    headers: { ...bearer(stack.keys.decisioning), 'cf-connecting-ip': '2001:db8:77::1' },
    signal: hangUp.signal,
  });
  assert.equal(response.status, 200);
  const found = new Map();
  const parser = createParser({
    onEvent: ({ id, event, data }) => found.set(`stream.${event}`, { ...(id && { id }), event, data: JSON.parse(data) }),
  });
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      if (found.has('stream.published')) break;
    }
  } finally {
    hangUp.abort();
  }
  return found;
}
