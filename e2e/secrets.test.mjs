// Uses, misuses and breaks a stack, then searches everything that the stack wrote: each secret is found only where it must be.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { probe } from './authorisation/probe.mjs';
import { databaseLink } from './database-link.mjs';
import { bearer, organisation } from './operator.mjs';
import { ended, freePorts, isAlive, originEnvironment, up } from './private-stack.mjs';
import { Receiver, authority } from './receiver.mjs';
import { Search } from './secrets/search.mjs';
import { inBodies, inHeaders, inPaths, inQueries } from './secrets/strewn.mjs';
import { columns, commandLines, files, recordingProxy } from './secrets/written.mjs';
import { uncachedTarget, until } from './stack.mjs';

const run = promisify(execFile);
/** The files of a stack's folder that may contain secrets; only their owner may read them. */
const SECRET_FILES = ['origin.env', 'secrets.json', 'stack.json'];
/** The columns with digests of credentials; no column contains a secret itself. */
const DIGEST_COLUMNS = ['api_key.digest', 'index_token.digest'];

/** Upper bound of a core dump in bytes: enough for the stacks of the threads, but not for the heap. */
const MAX_DUMP_BYTES = 1 << 20;

/** Every secret of this run, by a descriptive name. */
const secrets = new Map();
/** Responses and printed output: `{place, bytes}`. */
const outputs = [];
let stack;
let origin;
let database;
let wire;
let receiver;
let minted;

/** Sends a request and records the response for the search. */
async function ask(base, asked) {
  // The HTTP client itself refuses some invalid headers and URLs.
  const answer = await probe(base, asked).catch((error) => ({ status: 0, text: error.code ?? 'not sent', headers: new Headers() }));
  const head = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
  if (!asked.isEchoed) outputs.push({ place: `the answer ${answer.status} to ${asked.method ?? 'GET'} ${asked.target.split('?')[0].slice(0, 16)}`, bytes: Buffer.from(`${head}\n\n${answer.text}`) });
  return answer;
}

/** Runs a subcommand and records its output, without the secret in the member `shows`, which the subcommand must print once. */
async function verb(words, { environment = {}, shows } = {}) {
  const done = await run(stack.origin_bin, words, { env: { ...originEnvironment(stack), ...environment }, timeout: 60_000 }).catch((failed) => failed);
  const json = shows && JSON.parse(done.stdout);
  const printed = `${done.stdout}${done.stderr}`;
  outputs.push({ place: `the output of \`${words.join(' ')}\``, bytes: Buffer.from(shows ? printed.replaceAll(json[shows], '') : printed) });
  return json;
}

async function mint(name, ...words) {
  const { id, key } = await verb(['keys', 'mint', '--org', minted, '--json', ...words], { shows: 'key' });
  secrets.set(name, key);
  return { id, headers: bearer(key) };
}

/** Starts the origin as `up` does, but with debug logs, full backtraces and the largest permitted core dump. */
async function start(changed) {
  const folder = join(stack.state, 'crash');
  mkdirSync(folder, { recursive: true });
  const log = openSync(join(folder, 'origin.log'), 'a');
  const environment = { ...originEnvironment(stack), RDS_LOG: 'debug', RUST_BACKTRACE: 'full', ...changed };
  const words = ['-c', 'ulimit -c "$(ulimit -H -c)"; exec "$0" serve', stack.origin_bin];
  origin = spawn('sh', words, { cwd: folder, env: environment, stdio: ['ignore', log, log] });
  process.once('exit', () => origin.kill('SIGKILL'));
  const answers = async () => origin.exitCode !== null || (await probe(stack.admin, { target: '/ready' })).status === 200;
  await until('the origin answers', 60, answers);
}

/** Everything that can be searched now: `{place, bytes}`. */
async function everything() {
  const searchable = [...files(stack.state)].filter(({ place }) => !SECRET_FILES.includes(place));
  const pids = [stack.child.pid, ...Object.values(stack.pids)].filter(isAlive);
  return [
    ...searchable.map(({ place, bytes }) => ({ place: `the file ${place}`, bytes })),
    ...(await columns(stack.database_url)).map(({ place, bytes }) => ({ place: `the column ${place}`, bytes })),
    ...commandLines(pids), ...outputs,
    { place: 'the requests to the origin', bytes: wire.bytes() },
    ...['/risk', '/basket'].flatMap((path) => receiver.all(path)).map((got) => ({ place: 'a request to a webhook receiver', bytes: Buffer.from(JSON.stringify(got)) })),
  ];
}

before(async () => {
  const { file } = await authority();
  stack = await up('--data', 'demo', '--test-clock', '--webhook-allow', '127.0.0.0/8', '--webhook-ca', file);
  receiver = await Receiver.start();
  minted = organisation();
  const environment = originEnvironment(stack);
  for (const [name, key] of Object.entries(stack.keys)) secrets.set(`the demo's ${name} key`, key);
  for (const name of ['RDS_ADMIN_TOKEN', 'RDS_EDGE_ASSERTION_KEYS', 'RDS_MASTER_KEY', 'RDS_SIGNING_KEY']) secrets.set(name, environment[name]);
  secrets.set("the demo's index token", stack.index_token);
  secrets.set('the password of the database', new URL(stack.database_url).password);
  secrets.set('the password of the role that serves', new URL(environment.DATABASE_URL).password);
  secrets.set('the password of the role that migrates', JSON.parse(readFileSync(join(stack.state, 'secrets.json'), 'utf8')).postgres_migrate_password);

  const inner = await freePorts(1);
  process.kill(stack.pids.origin, 'SIGTERM');
  await until('the origin is gone', 30, () => !isAlive(stack.pids.origin));
  database = await databaseLink(environment.DATABASE_URL);
  wire = await recordingProxy(Number(new URL(stack.origin_edge).port), inner);
  await start({ DATABASE_URL: database.url, RDS_EDGE_ADDR: `127.0.0.1:${inner}` });
  stack.inner = inner;
  await until('the edge reaches the origin', 60, async () => (await probe(stack.edge, { target: '/ready' })).status === 200);
  await use();
  await misuse();
  await causeFaults();
}, { timeout: 600_000 });

after(async () => {
  wire?.close();
  database?.close();
  if (origin) await ended(origin, 'SIGKILL');
  await receiver?.stop();
  await stack?.stop();
});

/** Uses each secret as intended. */
async function use() {
  const key = await mint('a key', '--plan', 'decisioning', '--rpm', '100000');
  const shared = await mint('a shared key', '--plan', 'embedded', '--shared', '--rpm', '100000');
  const revoked = await mint('a revoked key', '--plan', 'data');
  for (const headers of [key.headers, shared.headers, revoked.headers, bearer(stack.index_token)]) {
    for (const target of ['/v1/me', '/v1/vaults?page=3&limit=100', '/v1/indices', '/v1/events/stream', uncachedTarget('/v1/vaults/scores')]) await ask(stack.edge, { target, headers });
    await ask(stack.relay, { target: '/v1/health', headers });
  }
  await verb(['keys', 'revoke', String(revoked.id), '--json']);
  await ask(stack.edge, { target: '/v1/me', headers: revoked.headers });
  await ask(stack.admin, { target: '/metrics', headers: bearer(stack.admin_token) });

  for (const [path, target, body] of [
    ['/risk', '/v1/webhooks', { families: ['event.published'] }], ['/basket', '/v1/baskets/prime-vaults/webhooks', {}],
  ]) {
    // The response to the creation must contain the secret, so it is not recorded.
    const made = await probe(stack.edge, { method: 'POST', target, headers: { ...key.headers, 'idempotency-key': `name${path}` }, body: JSON.stringify({ url: receiver.url(path), ...body }) });
    assert.equal(made.status, 200, made.text);
    const { id, secret } = made.json.data;
    secrets.set(`the secret of ${path}`, secret);
    if (path === '/basket') continue;
    const rotated = await verb(['webhooks', 'rotate', String(id), '--overlap', '24', '--json'], { shows: 'secret' });
    secrets.set(`the second secret of ${path}`, rotated.secret);
    assert.notEqual(rotated.secret, secret);
    await ask(stack.edge, { method: 'POST', target: `${target}/${id}/test`, headers: key.headers });
    await receiver.got(path);
    for (const rest of ['', '/deliveries']) await ask(stack.edge, { target: `${target}/${id}${rest}`, headers: key.headers });
    await ask(stack.edge, { target, headers: key.headers });
  }
  const [vault] = (await ask(stack.edge, { target: '/v1/vaults?limit=1' })).json.data;
  const check = { portfolioRef: 'book', positions: [{ vaultKey: `${vault.chain_id}:${vault.address}`, amountUsd: 1 }], limits: {}, issue: true };
  const decision = await ask(stack.edge, { method: 'POST', target: '/v1/graph/check', headers: key.headers, body: JSON.stringify(check) });
  assert.equal(decision.status, 200, decision.text);
  await ask(stack.edge, { target: '/v1/graph/signers' });
  minted = { key, shared };
}

/** Sends each secret in places where it does not belong. */
async function misuse() {
  const listeners = [stack.edge, stack.origin_edge, stack.relay, stack.admin];
  const operator = bearer(stack.admin_token);
  for (const secret of secrets.values()) {
    for (const listener of listeners) {
      const credential = listener === stack.admin ? operator : minted.key.headers;
      // These requests bypass the recorded connection, which must contain only the edge's requests.
      const base = listener === stack.origin_edge ? `http://127.0.0.1:${stack.inner}` : listener;
      const strewn = [inHeaders, inQueries, inBodies, inPaths].flatMap((place) => [...place(secret, credential)]);
      for (const isForwarded of [false, true]) {
        wire.keeps = !isForwarded;
        const group = strewn.filter((asked) => Boolean(asked.isForwarded) === isForwarded);
        for (let at = 0; at < group.length; at += 8) await Promise.all(group.slice(at, at + 8).map((asked) => ask(base, asked)));
      }
      wire.keeps = true;
    }
  }
}

/** Runs subcommands with invalid configurations, makes the database unreachable, and crashes the origin. */
async function causeFaults() {
  const environment = originEnvironment(stack);
  for (const [name, secret] of [...secrets].filter(([name]) => name.startsWith('RDS_'))) {
    for (const wrong of [`${secret}zz`, `${secret},${secret.slice(1)}`, secret.slice(0, -2), ` ${secret} x`]) {
      for (const words of [['doctor'], ['doctor', '--json'], ['serve']]) await verb(words, { environment: { ...conflictingOrigin, [name]: wrong } });
    }
  }
  const url = new URL(environment.DATABASE_URL);
  for (const wrong of [`${url.href}:x`, url.href.replace('postgres', 'mysql'), url.href.replace(url.host, 'nowhere.invalid:x'), url.href.replace(url.port, '1'), `${url.href}?sslmode=${url.password}`, `${url.href}?pasword=${url.password}`, url.href.replace(`:${url.password}@`, `:${url.password}x@`)]) {
    for (const words of [['doctor', '--json'], ['keys', 'list'], ['migrate'], ['serve']]) await verb(words, { environment: { ...conflictingOrigin, DATABASE_URL: wrong } });
  }
  const { key } = minted;
  for (const away of ['cut', 'silence']) {
    database[away]();
    for (const target of ['/v1/me', '/v1/webhooks', uncachedTarget('/v1/vaults'), '/v1/status', '/v1/health']) await ask(stack.edge, { target, headers: key.headers });
    await ask(stack.relay, { target: '/v1/health', headers: key.headers });
    database.restore();
    await until('the database answers again', 60, async () => (await probe(stack.edge, { target: '/v1/me', headers: key.headers })).status === 200);
  }
  await ended(origin, 'SIGABRT');
  for (const headers of [key.headers, minted.shared.headers, bearer('pk_live_0')]) {
    for (const target of ['/v1/vaults', '/v1/me', uncachedTarget('/v1/vaults'), '/v1/webhooks']) await ask(stack.edge, { target, headers });
  }
}

/** Variables of a second origin, which cannot serve even with a valid configuration: the first origin holds its edge and relay ports. */
const conflictingOrigin = { RDS_ADMIN_ADDR: '127.0.0.1:1', RDS_LOG: 'debug' };

describe('after use, misuse and faults', () => {
  let search;
  let places;

  before(async () => {
    // A checkpoint writes the database's buffers to its files before they are searched.
    const client = new pg.Client({ connectionString: stack.database_url });
    await client.connect();
    await client.query('checkpoint');
    await client.end();
    search = new Search(secrets);
    places = await everything();
  });

  test('there are secrets, and places of each kind', () => {
    assert.ok(search.size >= 16 && [...secrets.values()].every((secret) => secret?.length >= 16), [...secrets.keys()].join());
    for (const kind of [/^the file logs.edge/, /^the file logs.postgres/, /^the file crash.origin\.log/, /^the file edge.objects.*sqlite/, /^the file postgres/, /^the column webhook_subscription\.secret$/, /^the command line/, /^the answer 401/, /^the answer 503/, /^a request to a webhook receiver/, /^the output of `doctor`/]) {
      assert.ok(places.some(({ place, bytes }) => kind.test(place) && bytes.length > 0), String(kind));
    }
    assert.ok(wire.bytes().length > 10_000);
  });

  test('no secret is in a file, column, command line, response, output or request where it is not needed', () => {
    assert.deepEqual(places.flatMap(({ place, bytes }) => search.in(bytes, place)), []);
  });

  test('only the owner can read the files with secrets', () => {
    for (const name of SECRET_FILES) {
      const [file] = [...files(stack.state)].filter(({ place }) => place === name);
      assert.equal(file.mode, 0o600, name);
      assert.notDeepEqual(search.in(file.bytes, name), [], `${name} contains no secret`);
    }
  });

  test('the database contains digests of credentials in the expected columns only', async () => {
    const digests = new Search(new Map([...secrets].filter(([, text]) => /^(pk|ix)_live_/.test(text)).map(([name, text]) => [name, createHash('sha256').update(text).digest('hex')])));
    const found = places.filter(({ place, bytes }) => place.startsWith('the column') && digests.in(bytes, place).length > 0);
    assert.deepEqual(found.map(({ place }) => place.slice('the column '.length)).toSorted(), DIGEST_COLUMNS);
  });

  test('a crash leaves no core dump larger than 1 MiB', () => {
    assert.equal(origin.signalCode, 'SIGABRT');
    const dumps = [...files(join(stack.state, 'crash'))].filter(({ place }) => place !== 'origin.log');
    for (const { place, bytes } of dumps) assert.ok(bytes.length < MAX_DUMP_BYTES, `${place} has ${bytes.length} bytes`);
  });

  test('a planted secret is found in a file, a column, a command line and a response', async () => {
    const [[name, planted]] = secrets;
    const client = new pg.Client({ connectionString: stack.database_url });
    await client.connect();
    const file = join(stack.state, 'logs', 'planted.log');
    try {
      writeFileSync(file, JSON.stringify({ authorization: Buffer.from(`Bearer ${planted}`).toString('base64') }));
      await client.query('create table planted (value bytea)');
      await client.query('insert into planted values ($1)', [Buffer.from(planted.slice(0, planted.length / 2))]);
      const shown = spawn('sh', ['-c', 'read line', 'sh', planted.toUpperCase()], { stdio: ['pipe', 'ignore', 'ignore'] });
      stack.pids.planted = shown.pid;
      outputs.push({ place: 'a planted answer', bytes: Buffer.from(`/v1/vaults?key=${encodeURIComponent(planted)}`) });
      const found = (await everything()).flatMap(({ place, bytes }) => search.in(bytes, place));
      shown.kill();
      for (const place of [/the file logs.planted/, /the column planted\.value/, /the command line of .*sh/, /a planted answer/]) {
        assert.ok(found.some((line) => line.startsWith(name) && place.test(line)), `${place} of ${found.join('\n')}`);
      }
    } finally {
      await client.query('drop table planted');
      await client.end();
      rmSync(file);
      outputs.pop();
    }
  });
});
