// A naive webhook sender: sends every event to one endpoint after the other, signed with Standard Webhooks, over keep-alive
// connections, with a timeout of ten seconds. It stores nothing, retries nothing and has no concurrency.
//
//   node sender.mjs SETTINGS.json < EVENTS      SETTINGS: {"authority": PEM, "secret": TEXT, "endpoints": [URL]}; one event per line

import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { createInterface } from 'node:readline';

const TIMEOUT_MILLIS = 10_000;
const { authority, secret, endpoints } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const agent = new Agent({ keepAlive: true, ca: authority });

/** One attempt. Resolves after success, failure or timeout. */
function post(url, id, body) {
  const seconds = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature}`,
  };
  return new Promise((resolve) => {
    const sent = request(url, { method: 'POST', agent, headers, signal: AbortSignal.timeout(TIMEOUT_MILLIS) }, (answer) => {
      answer.resume().on('end', resolve).on('error', resolve);
    });
    sent.on('error', resolve).end(body);
  });
}

for await (const body of createInterface({ input: process.stdin })) {
  const id = randomUUID();
  for (const url of endpoints) await post(url, id, body);
}
