// The fault campaign against the whole stack: under a steady load of readers, writers, streams, webhooks and keys, each part is killed,
// stopped, frozen, cut off or restored in turn. Then the responses are compared with what was written.
//
// `cargo xtask test faults --campaign stack --seed N --rounds N` runs it. The seed determines the faults and their durations; the
// machine's timing determines which requests they affect.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Dice } from '../campaign/dice.mjs';
import { Endpoints } from '../campaign/endpoints.mjs';
import { judged } from '../campaign/histories.mjs';
import { Client } from '../campaign/streams.mjs';
import * as pushed from '../campaign/verdict.mjs';
import { bearer, mint, verb } from '../operator.mjs';
import { authority } from '../receiver.mjs';
import { request, uncachedTarget, until } from '../stack.mjs';
import { Crowd, MeteredCaller, Reader, Revoked, Stranger } from './callers.mjs';
import { faultsOf } from './faults.mjs';
import { Answers, Written, grouped } from './record.mjs';
import { AcknowledgementWatch, ofStates } from './registers.mjs';
import { Stack } from './stack.mjs';
import * as verdict from './verdict.mjs';
import { Group, Writer, lines, numberIn, statesInHistory } from './writers.mjs';

const SEED = Number(process.env.RDS_SEED ?? 1);
const ROUNDS = Number(process.env.RDS_ROUNDS ?? 4);
/** Pattern of the faults to run; all by default. */
const FAULT_PATTERN = new RegExp(process.env.RDS_FAULT ?? '');
const description = JSON.parse(readFileSync(process.env.RDS_CAMPAIGN, 'utf8'));
/** Time limit for all responses to be fresh again after a fault, and the interval of the probes. */
const RECOVERY_SECONDS = 60;
const PROBE_MILLIS = 250;
/** Time limit for pending stream frames and webhook deliveries. */
const SETTLE_SECONDS = 30;
/** More than any clock is ahead in this campaign, and therefore more than any delivery is postponed. */
const MAX_POSTPONED_SECONDS = 6 * 3600;
/** Limit per minute of the key with an exact limit: low enough for the load to exceed it. */
const METERED_LIMIT = 60;
/** Limit per minute of the `Crowd` caller's key: high enough for the edge to reserve requests. */
const CROWD_LIMIT = 900;
const MAX_SHOWN_VIOLATIONS = 8;
const HOOKS = [{ path: '/events', families: ['event.published'] }, { path: '/more', families: ['event.published'] }];
const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

const dice = new Dice(SEED);
const groups = ['north', 'south'].map((name, place) => new Group(name, place));
const written = new Written(groups.map(({ name }) => name));
const answers = new Answers();
/** The responses to hostile requests: `{who, edgeIndex, target, status, began, ended}`. */
const hostileAnswers = [];
const restores = [];
const skipped = new Map();
/** Titles of the events that were sent again after a restore, and may therefore have been published a second time. */
const resentTitles = new Set();
let stack;
let endpoints;
let writers = [];
let callers = [];
let clients = [];
let revoked;
let watch;

async function setUp() {
  stack = await Stack.start(description, { RDS_WEBHOOK_CA: (await authority()).file, RDS_LOG: 'warn' });
  await stack.postgres.start();
  await verb(description, 'migrate');
  await verb(description, 'simulate', '--seed', '7', '--vaults', '4', '--hours', '2');
  stack.supervise();
  await stack.ready(RECOVERY_SECONDS);
  await verb(description, 'signers', 'activate', '--at', '2020-01-01T00:00:00Z');
  const [origin] = stack.origins;
  const at = new Date(Date.now() - 60_000).toISOString();
  for (const group of groups) {
    const answer = await origin.operate('/ingest', { method: 'POST', body: lines(group.beginning(at)), timeout: 30_000 });
    assert.equal(answer.status, 200, answer.text);
  }
  await verb(description, 'graph', 'build');
  const key = await mint(description, { plan: 'decisioning', rpm: 100_000 });
  const metered = await mint(description, { plan: 'data', rpm: METERED_LIMIT });
  const crowded = await mint(description, { plan: 'data', rpm: CROWD_LIMIT });
  endpoints = new Endpoints();
  await endpoints.start();
  for (const hook of HOOKS) {
    const { id, secret } = await requestAsOwner(key, 'POST', '/v1/webhooks', { url: endpoints.url(hook.path), families: hook.families });
    hook.id = id;
    endpoints.secrets.set(hook.path, secret);
  }
  const common = { edgeUrls: stack.edgeUrls, answers };
  const decision = await issueDecision(key);
  clients = [0, 1].map((edgeIndex) => new Client(`client ${edgeIndex}`, { dice: dice.of(`client ${edgeIndex}`), origins: [{ relay: stack.edgeUrls[edgeIndex] }], key: key.key, habit: 'steady', vault: null }));
  await Promise.all(clients.map((client) => client.start()));
  writers = groups.map((group) => new Writer(group, { dice: dice.of(group.name), origins: stack.origins, written }));
  callers = [0, 0, 1, 1].map((edgeIndex, place) => new Reader(`reader ${place}`, edgeIndex, { ...common, dice: dice.of(`reader ${place}`), groups, key, decision }));
  callers.push(...[0, 1].map((place) => new MeteredCaller(`glutton ${place}`, { ...common, dice: dice.of(`glutton ${place}`), key: metered, limit: METERED_LIMIT })));
  callers.push(...stack.edgeUrls.map((_, edgeIndex) => new Stranger(`stranger ${edgeIndex}`, edgeIndex, { edgeUrls: stack.edgeUrls, answers: hostileAnswers, dice: dice.of(`stranger ${edgeIndex}`) })));
  callers.push(new Crowd('crowd', { ...common, dice: dice.of('crowd'), key: crowded, limit: CROWD_LIMIT }));
  revoked = new Revoked({ ...common, dice: dice.of('revoked'), description });
  callers.push(revoked);
  for (const actor of [...writers, ...callers]) actor.start();
  watch = new AcknowledgementWatch(stack.postgres, written);
}

/** Sends a request with the webhooks' key until it succeeds. */
async function requestAsOwner(key, method, target, body) {
  return until(`${method} ${target}`, RECOVERY_SECONDS, async () => {
    const answer = await request(stack.edgeUrls[0], target, { method, body: JSON.stringify(body), headers: { ...bearer(key.key), 'content-type': 'application/json' } });
    assert.equal(answer.status, 200, answer.text);
    return answer.json.data;
  });
}

/** Issues a signed decision; returns its id. */
async function issueDecision(key) {
  const [{ vaults }] = groups;
  const [, chain, address] = /-(\d+)-(0x\w+)$/.exec(vaults[0]);
  const check = { portfolioRef: 'campaign', positions: [{ vaultKey: `${chain}:${address}`, amountUsd: 100 }], limits: { maxSharePerCurator: 1 }, issue: true };
  const { decision } = await requestAsOwner(key, 'POST', '/v1/graph/check', check);
  return decision.decisionId;
}

/** Whether a list and a detail of every group are fresh at both edges and show at least the state `minState(group)`. */
async function isFresh(minState) {
  const pages = stack.edgeUrls.flatMap((_, edgeIndex) =>
    groups.flatMap((group) => [
      [edgeIndex, group, `/v1/vaults?protocol=${group.protocol}&limit=50`, (json) => json.data],
      [edgeIndex, group, `/v1/vaults/${group.vaults[0]}?points=2`, (json) => [json.data.vault]],
    ]),
  );
  const fresh = await Promise.all(pages.map(async ([edgeIndex, group, target, rows]) => {
    const { status, headers, json } = await request(stack.edgeUrls[edgeIndex], target, { timeout: 5000 });
    return status === 200 && headers.get('x-cache') !== 'STALE-ERROR' && rows(json).every((row) => numberIn(row) >= minState(group.name));
  }));
  return fresh.every(Boolean);
}

/**
 * Waits until all responses are fresh and include every acknowledged write, new writes are accepted and another key is revoked. Returns
 * the number of probes.
 */
async function awaitRecovery() {
  let probes = 0;
  const before = groups.map(({ name }) => written.newest(name));
  const keys = revoked.keys.length;
  await until('all responses are fresh again', RECOVERY_SECONDS, async () => {
    probes += 1;
    const newest = new Map(groups.map(({ name }) => [name, written.newest(name)]));
    const hasNewWrites = groups.every(({ name }, place) => newest.get(name) > before[place]);
    return hasNewWrites && revoked.keys.length > keys && (await stack.isReady()) && (await isFresh((group) => newest.get(group)));
  }, PROBE_MILLIS);
  return probes;
}

/**
 * Makes a backup under load. The backup contains at least the state `held` and at most the state `kept` of each group; `steps` is the
 * number of the journal's steps before the backup.
 */
async function backUp(name) {
  // The backup contains every state acknowledged before its start, and may contain a state sent before its end.
  const held = new Map(groups.map(({ name: group }) => [group, written.newest(group)]));
  const steps = await count('incarnation');
  const folder = await stack.disk.backUp(stack.postgres, name);
  const kept = new Map(writers.map(({ group, batches }) => [group.name, batches.length]));
  return { folder, held, kept, steps };
}

/** Makes a backup, waits, and restores it. */
async function restore(die, { stopsOrigins }) {
  const backup = await backUp('backup');
  await sleep(die.between(2000, 5000));
  await putBack(backup, { stopsOrigins });
}

/**
 * Restores one backup twice. One client disconnects between the restores, and returns when the journal has given more sequence numbers
 * after the second restore than after the first. The client must not get the second journal's operations as a continuation of the first's.
 */
async function restoreTwice(die) {
  const backup = await backUp('twice');
  for (const leaves of [false, true]) {
    await sleep(die.between(2000, 4000));
    await putBack(backup, { stopsOrigins: die.chance(0.5), leaves });
  }
}

/** Restores a backup, and then an older backup, which does not contain the journal's step of the first restore. */
async function restoreOlder(die) {
  const old = await backUp('old');
  await sleep(die.between(1000, 2000));
  await restore(die, { stopsOrigins: die.chance(0.5) });
  await sleep(die.between(1000, 3000));
  await putBack(old, { stopsOrigins: die.chance(0.5), leaves: true });
}

/** Promotes Postgres without loss, so that clients get no gap, and then restores a backup made before the promotion. */
async function restorePromoted(die) {
  const { postgres, disk } = stack;
  const backup = await backUp('promoted');
  await stack.without([postgres], async () => {
    await postgres.end('SIGINT');
    disk.promote();
  });
  await until('the promotion has become a step of the journal', RECOVERY_SECONDS, async () => (await count('incarnation')) > backup.steps, PROBE_MILLIS);
  await sleep(die.between(2000, 4000));
  await putBack(backup, { stopsOrigins: die.chance(0.5), leaves: true });
}

/**
 * Restores a backup and sends the lost batches again. If `leaves`, one client disconnects before the restore and returns when the
 * restored journal has given more sequence numbers since its last step than the journal had before the restore.
 */
async function putBack({ folder, held, kept, steps }, { stopsOrigins, leaves }) {
  const { postgres, disk, origins } = stack;
  // Everything in progress is completed first, so that the lost batches are known.
  await Promise.all([...writers, revoked].map((actor) => actor.rest()));
  await awaitDeliveries();
  const away = leaves ? [dice.pick(clients)] : [];
  for (const client of away) client.leave();
  const given = await numbersGiven();
  const fault = { from: performance.now(), to: Infinity, until: Infinity, kept };
  restores.push(fault);
  await stack.without(stopsOrigins ? [postgres, ...origins] : [postgres], async () => {
    if (stopsOrigins) await Promise.all(origins.map((origin) => origin.end('SIGTERM')));
    await postgres.end('SIGINT');
    await disk.restore(folder);
  });
  // The backup may have ended before the newest of the states that were sent by then.
  fault.kept = await until('the restored database says its states', RECOVERY_SECONDS, statesInDatabase, PROBE_MILLIS);
  await until('both edges show the state of the backup', RECOVERY_SECONDS, async () => (await stack.isReady()) && (await isAsKept(fault.kept, steps)), PROBE_MILLIS);
  fault.to = performance.now();
  await sleep(2000);
  fault.until = performance.now();
  for (const { group, batches } of writers) for (let number = held.get(group.name) + 1; number <= batches.length; number += 1) resentTitles.add(`${group.name} ${number}`);
  await Promise.all(writers.map((writer) => writer.sayAgain(held.get(writer.group.name))));
  for (const actor of [...writers, revoked]) actor.goOn();
  if (!leaves) return;
  await until('the journal has given more sequence numbers than before the restore', RECOVERY_SECONDS, async () => (await numbersGiven()) > given, PROBE_MILLIS);
  for (const client of away) client.comeBack();
}

/** The newest state of each group in the database. */
async function statesInDatabase() {
  const sql = 'select max(tvl_usd)::float8 as tvl_usd from vault_snapshot where vault_id = $1';
  const states = groups.map(async ({ name, vaults }) => [name, numberIn((await stack.postgres.ask(sql, [vaults[0]]))[0])]);
  return new Map(await Promise.all(states));
}

const count = async (table) => (await stack.postgres.ask(`select count(*)::int as rows from ${table}`))[0].rows;

/** The number of sequence numbers that the journal has given since its last step. */
async function numbersGiven() {
  const [{ given }] = await stack.postgres.ask('select (head - coalesce((select max(to_seq) from incarnation), 0))::text as given from journal_state');
  return BigInt(given);
}

/**
 * Whether a restore is complete: the journal has more steps than the backup, the edge has acknowledged all tag versions, and uncached
 * requests at both edges show the states in the backup.
 */
async function isAsKept(kept, before) {
  const sql = `
    select (select count(*)::int from incarnation) as steps,
           not exists (select from data_tag t left join edge_tag e using (tag) where t.version > coalesce(e.version, 0)) as is_told`;
  const [{ steps, is_told: isTold }] = await stack.postgres.ask(sql);
  if (!isTold || steps <= before) return false;
  const pages = stack.edgeUrls.flatMap((edgeUrl) => groups.map(async ({ name, protocol }) => {
    const { status, json } = await request(edgeUrl, uncachedTarget(`/v1/vaults?protocol=${protocol}`), { timeout: 5000 });
    return status === 200 && json.data.every((row) => numberIn(row) === kept.get(name));
  }));
  return (await Promise.all(pages)).every(Boolean);
}

/** One round: runs a fault, and waits until the stack has recovered by itself. */
async function round(number, [what, { act, hit, fills }]) {
  await sleep(dice.between(500, 2000));
  const fault = { what, hit, fills, from: performance.now(), to: Infinity };
  stack.faults.push(fault);
  await act(dice);
  const ended = performance.now();
  const probes = await awaitRecovery().catch((error) => {
    throw new Error(`${what}: ${error.message}; ${missing()}\n${stack.lastWords()}`, { cause: error });
  });
  fault.to = performance.now();
  console.log(`round ${number}: ${what}, broken for ${seconds(ended - fault.from)}, recovered ${seconds(fault.to - ended)} later (${probes} probes)`);
}

const seconds = (millis) => `${(millis / 1000).toFixed(1)} s`;
const missing = () => groups.map(({ name }) => `${name} is at ${written.newest(name)}`).join(', ');

/** Whether a frame or delivery is about the campaign's events; the service also publishes events that it detected itself. */
const isOurs = ({ title }) => title === undefined || /^(north|south) \d+$/.test(title);
const ours = () => clients.map((client) => ({ ...client, frames: client.frames.filter(isOurs) }));
const received = () => endpoints.receipts.filter(isOurs);

/**
 * Waits until streams and webhooks have delivered all events, or the time limit has passed; the verdict reports missing events. An
 * origin whose clock was ahead may have postponed deliveries, so after the first limit the clock is moved forward until they are due.
 */
async function awaitDeliveries() {
  const isComplete = () => pushed.lostOnStreams(ours(), written.committed).length + pushed.lostDeliveries(HOOKS, received(), written.committed).length === 0;
  const within = (limit) => until('all events are delivered', limit, isComplete, PROBE_MILLIS).then(() => true, () => false);
  if (await within(SETTLE_SECONDS)) return;
  await stack.advance(MAX_POSTPONED_SECONDS);
  await within(SETTLE_SECONDS);
  await stack.advance(-MAX_POSTPONED_SECONDS);
}

/** The faults of this run in random order: all that this machine supports, before any is repeated. */
function drawFaults() {
  const faults = Object.entries(faultsOf(stack, { writers, restore, restoreTwice, restoreOlder, restorePromoted }));
  for (const [what, { why }] of faults) if (why) skipped.set(what, why);
  const possible = faults.filter(([what, { why }]) => why === undefined && FAULT_PATTERN.test(what));
  const order = [];
  while (order.length < ROUNDS) {
    const rest = possible.toSorted().map((fault) => [dice.fraction(), fault]).toSorted(([one], [two]) => one - two);
    order.push(...rest.map(([, fault]) => fault));
  }
  return order.slice(0, ROUNDS);
}

before(async () => {
  console.log(`seed ${SEED}, ${ROUNDS} rounds`);
  await setUp();
  const faults = drawFaults();
  for (const [what, why] of skipped) console.log(`skipped: ${what}, because ${why}`);
  await awaitRecovery();
  for (const [place, fault] of faults.entries()) await round(place + 1, fault);
  await Promise.all(writers.map((writer) => writer.rest()));
  await awaitDeliveries();
  await Promise.all([...callers, ...writers, watch].map((actor) => actor.stop()));
  const kinds = grouped(answers.all, ({ status, cache }) => `${status}${cache ? ` ${cache}` : ''}`);
  console.log(`${answers.all.length} answers (${[...kinds].map(([kind, of]) => `${of.length} ${kind}`).join(', ')}), ${written.committed.size} batches, ${revoked.keys.length} keys revoked`);
}, { timeout: (240 + ROUNDS * 150) * 1000 });

after(async () => {
  for (const actor of [...writers, ...callers, ...clients, watch]) actor?.stop();
  await stack?.stop();
  await endpoints?.stop();
});

/** The origins' log line for the request with this answer. */
function logLine(answer) {
  const [, id] = answer.match(/"request_id":"(\w+)"/) ?? [];
  const log = ['origin-a', 'origin-b'].map((name) => readFileSync(join(description.logs, `${name}.log`), 'utf8')).join('\n');
  return (id && log.split('\n').find((line) => line.includes(id))) ?? 'no log line';
}

/** Fails if there are violations, and shows the first ones. */
function expectNone(violations) {
  const { length } = violations;
  assert.equal(length, 0, `${length}: ${violations.slice(0, MAX_SHOWN_VIOLATIONS).join('\n  ')}\nseed ${SEED}: ${stack.faults.map(({ what, from, to }) => `${what} ${Math.round(from)}-${Math.round(to)}`).join('; ')}`);
}

describe('after every fault of the whole stack', () => {
  test('the load and the faults were as planned', () => {
    assert.equal(stack.faults.length, ROUNDS);
    assert.ok(written.committed.size > ROUNDS * 4, `${written.committed.size} batches`);
    assert.ok(revoked.keys.length > 0, 'no key was revoked');
    for (const kind of ['list', 'detail', 'events', 'verify', 'metered', 'crowded', 'revoked']) assert.ok(answers.all.some((answer) => answer.kind === kind && answer.status === 200), kind);
    for (const limited of ['metered', 'crowded']) assert.ok(answers.all.some(({ kind, status }) => kind === limited && status === 429), `the limit of ${limited} was never reached`);
  });

  test('each list shows a single state', () => expectNone(verdict.torn(answers.all)));
  test('everything shown had been written', () => expectNone([...verdict.invented(answers.all, written), ...verdict.inventedEvents(answers.all, written)]));
  test('no reader saw an older state than before, except after a restore', () => expectNone(verdict.wentBack(answers.all, restores)));
  test('a checker that is not ours finds what each edge showed linearizable, up to the first restore', () => {
    console.log(judged(ofStates(answers.all, written, restores)).trim());
  });
  test('undone states are not shown after a restore', () => expectNone(verdict.undone(answers.all, restores)));
  test('each ETag belongs to one content', () => expectNone(verdict.ambiguousTags(answers.all)));
  test('every failure is reported as the interface specifies', () => expectNone(verdict.undocumented(answers.all)));
  test('without a fault nothing failed', () => expectNone(verdict.unprovoked(answers.all, stack.faults)));
  test('without a fault hostile requests caused no server error', () => {
    assert.ok(hostileAnswers.filter(({ status }) => status > 0).length > ROUNDS * 10, `${hostileAnswers.length} hostile requests`);
    expectNone(verdict.provoked(hostileAnswers, stack.faults));
  });
  test('no process ended by itself, except Postgres with a full disk', () => expectNone(verdict.unexpectedEndings(stack.endings, stack.faults)));
  test('no limit was exceeded, and no remaining count was given twice', () => expectNone(verdict.overLimit(answers.all)));
  test('no key was accepted after its revocation was acknowledged', () => expectNone(verdict.admittedRevoked(answers.all)));
  test('a signed decision was proved during every fault', () => expectNone(verdict.unproven(answers.all)));
  test('no batch was refused', () => expectNone(writers.flatMap(({ refusals }) => refusals).map((refusal) => `${refusal}\n    ${logLine(refusal)}`)));

  test('every acknowledged state is in the history', async () => {
    expectNone(verdict.lostStates(await statesInHistory(groups, stack.edgeUrls[0]), written));
  });

  test('every stream client got every event', () => expectNone(pushed.lostOnStreams(ours(), written.committed)));
  test('no stream client got an event that was never written', () => expectNone(pushed.inventedOnStreams(ours(), written.committed)));
  test('no stream client got an event twice, except after a gap', () => expectNone(ours().flatMap((client) => pushed.repeatedOnStreams(verdict.lives(client)))));
  test('every stream client got a gap for each restore', () => expectNone(verdict.untold(clients, restores)));
  test('no sequence number was given to two operations, even across restores', () => expectNone(verdict.givenTwice(clients)));
  test('every webhook got every event', () => expectNone(pushed.lostDeliveries(HOOKS, received(), written.committed)));
  test('no webhook got an event that was never written', () => expectNone(pushed.inventedDeliveries(HOOKS, received(), written.committed)));
  test('an event kept its id and content in every attempt and across restores', () => expectNone(pushed.changedEvents(received().filter(({ title }) => !resentTitles.has(title)))));
});
