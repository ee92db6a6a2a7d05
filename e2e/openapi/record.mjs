// Records a real request and response of every operation, and a real delivery of every push event, into `openapi/examples`.
//
// node openapi/record.mjs [name …]: starts its own stack and records all examples, or only the named ones.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { mint } from '../operator.mjs';
import { up } from '../private-stack.mjs';
import { Receiver, authority } from '../receiver.mjs';
import { until } from '../stack.mjs';
import { Validator, committed, operations, target } from './document.mjs';
import { errors } from './errors.mjs';
import { Plan } from './plan.mjs';
import { basketDeliveries, deliveries, frames } from './pushed.mjs';

/** The webhook URL of the recording; nothing listens there. */
const UNUSED_URL = 'https://127.0.0.1:8443/risk';
/** The URL that the recorded examples show instead of `UNUSED_URL`. */
const EXAMPLE_URL = 'https://hooks.example.com/risk';
const FOLDER = new URL('../../openapi/examples/', import.meta.url);
/** Maximum number of elements recorded of a list of objects, and of a list of scalars. */
const MAX_ELEMENTS = { objects: 2, scalars: 16 };

const wanted = process.argv.slice(2);
const isWanted = (name) => wanted.length === 0 || wanted.includes(name);
const stack = await up('--data', 'demo', '--test-clock', '--webhook-allow', '127.0.0.0/8', '--webhook-ca', (await authority()).file);
const receiver = await Receiver.start();
const { key } = await mint(stack, { plan: 'decisioning', rpm: 60_000 });
stack.keys.decisioning = key;
const document = committed();
const validator = new Validator(document);
const plan = new Plan(stack, UNUSED_URL);

/** The value with shortened lists, and with replaced secrets and machine-specific values. */
function redacted(value, name = '') {
  if (Array.isArray(value)) {
    const count = value.some((item) => item !== null && typeof item === 'object') ? MAX_ELEMENTS.objects : MAX_ELEMENTS.scalars;
    return value.slice(0, count).map((item) => redacted(item));
  }
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, redacted(member, key)]));
  }
  if (name === 'secret' && typeof value === 'string') return `whsec_${Buffer.alloc(32).toString('base64')}`;
  if (name === 'prefix' && typeof value === 'string' && value.startsWith('pk_live_')) return 'pk_live_0123';
  return typeof value === 'string' ? value.replaceAll(UNUSED_URL, EXAMPLE_URL) : value;
}

function save(name, example) {
  const text = JSON.stringify(redacted(example), null, 1).replace(/\n\s+/g, (gap) => (gap.length <= 4 ? gap : ' '));
  writeFileSync(new URL(`${name}.json`, FOLDER), `${text}\n`);
}

async function recordResponses() {
  for (const one of operations(document).filter(({ id }) => isWanted(id) && id !== 'OpenApi')) {
    const values = await plan.request(one.id);
    if (values === undefined) continue;
    const body = values.body && JSON.stringify(values.body);
    const headers = { ...plan.headers(one.operation), ...(body && { 'content-type': 'application/json' }) };
    const answer = await stack.get(target(document, one, values), { method: one.method, headers, body });
    assert.equal(answer.status, 200, `${one.id}: ${answer.text.slice(0, 500)}`);
    const example = { ...values, response: answer.json };
    const media = one.operation.responses[200].content['application/json'];
    const faults = media ? validator.faults(media.schema, redacted(example.response)) : [];
    if (faults.length > 0) console.error(`${one.id} does not match its schema:\n  ${faults.join('\n  ')}`);
    save(one.id, example);
  }
}

try {
  await until('the exposure graph is built', 60, async () => {
    const headers = { authorization: `Bearer ${key}` };
    return (await stack.get('/v1/graph/incident-exposure/summary', { headers })).status === 200;
  });
  if (wanted.length === 0) for (const file of readdirSync(FOLDER)) rmSync(new URL(file, FOLDER));
  await recordResponses();
  const bodies = () => receiver.all('/risk').map(({ json }) => json);
  for (const recorded of [
    await errors(stack, 'balanced-assets'), await deliveries(stack, UNUSED_URL),
    await basketDeliveries(stack, receiver.url('/risk'), bodies, 'house-picks'), await frames(stack),
  ]) {
    for (const [name, response] of recorded) if (isWanted(name)) save(name, { response });
  }
  for (const name of wanted) assert.ok(existsSync(new URL(`${name}.json`, FOLDER)), `there is no example named ${name}`);
  console.log(`${readdirSync(FOLDER).length} examples`);
} finally {
  await receiver.stop();
  await stack.stop();
}
