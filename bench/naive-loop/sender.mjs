// The webhook sender that one writes first: every event to one endpoint after the other, signed as Standard Webhooks has it, over kept
// connections, with a deadline of ten seconds. Nothing is written down, tried again or done side by side.
//
//   node sender.mjs WISH.json < EVENTS      WISH: {"authority": PEM, "secret": TEXT, "endpoints": [URL]}; an event a line

import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { createInterface } from 'node:readline';

const DEADLINE_MILLIS = 10_000;
const { authority, secret, endpoints } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const agent = new Agent({ keepAlive: true, ca: authority });

/** One attempt; whatever becomes of it, it has ended by its deadline. */
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
    const sent = request(url, { method: 'POST', agent, headers, signal: AbortSignal.timeout(DEADLINE_MILLIS) }, (answer) => {
      answer.resume().on('end', resolve).on('error', resolve);
    });
    sent.on('error', resolve).end(body);
  });
}

for await (const body of createInterface({ input: process.stdin })) {
  const id = randomUUID();
  for (const url of endpoints) await post(url, id, body);
}
