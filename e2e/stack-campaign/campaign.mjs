// The campaign against the whole stack: under a steady load of readers, writers, streams, webhooks and keys everything is killed,
// stopped, starved and set back in turn; then what everybody was told is compared with what was so.
//
// `cargo xtask test faults --campaign stack --seed N --rounds N` runs it. The seed decides what is broken, and for how long; the
// machine's timing decides what exactly that hits.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Dice } from '../campaign/dice.mjs';
import { Endpoints } from '../campaign/endpoints.mjs';
import { Client } from '../campaign/streams.mjs';
import * as pushed from '../campaign/verdict.mjs';
import { bearer, mint, verb } from '../operator.mjs';
import { authority } from '../receiver.mjs';
import { request, unasked, until } from '../stack.mjs';
import { Crowd, Glutton, Reader, Revoked, Stranger } from './callers.mjs';
import { faultsOf } from './faults.mjs';
import { Answers, Written, grouped } from './record.mjs';
import { Stack } from './stack.mjs';
import * as verdict from './verdict.mjs';
import { Group, Writer, lines, numberIn } from './writers.mjs';

const SEED = Number(process.env.RDS_SEED ?? 1);
const ROUNDS = Number(process.env.RDS_ROUNDS ?? 4);
/** The faults that may be drawn; all of them but in a hunt for one. */
const ONLY = new RegExp(process.env.RDS_FAULT ?? '');
const description = JSON.parse(readFileSync(process.env.RDS_CAMPAIGN, 'utf8'));
/** How long everything may take to answer fresh again once nothing is broken any more, and how often it is asked meanwhile. */
const RECOVERY_SECONDS = 60;
const PROBE_MILLIS = 250;
/** How long what is under way to streams and webhooks may take. */
const SETTLE_SECONDS = 30;
/** More than a clock is ever ahead here. */
const PUT_OFF_SECONDS = 6 * 3600;
/** Requests a minute of the key whose limit is tried: few enough for the load to reach it. */
const LIMIT = 60;
/** The same of the key that a crowd shares: enough for requests of it to be reserved. */
const CROWDED = 900;
const SHOWN = 8;
const HOOKS = [{ path: '/events', families: ['event.published'] }, { path: '/more', families: ['event.published'] }];
const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

const dice = new Dice(SEED);
const groups = ['north', 'south'].map((name, place) => new Group(name, place));
const written = new Written(groups.map(({ name }) => name));
const answers = new Answers();
/** What strangers who mean harm were answered: notes of `{who, door, target, status, began, ended}`. */
const harm = [];
const restores = [];
const skipped = new Map();
/** Titles of what was sent again after a restore: it may have happened anew. */
const said = new Set();
let stack;
let endpoints;
let writers = [];
let callers = [];
let clients = [];
let revoked;

async function set() {
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
  const metered = await mint(description, { plan: 'data', rpm: LIMIT });
  const crowded = await mint(description, { plan: 'data', rpm: CROWDED });
  endpoints = new Endpoints();
  await endpoints.start();
  for (const hook of HOOKS) {
    const { id, secret } = await owner(key, 'POST', '/v1/webhooks', { url: endpoints.url(hook.path), families: hook.families });
    hook.id = id;
    endpoints.secrets.set(hook.path, secret);
  }
  const common = { doors: stack.doors, answers };
  const decision = await decided(key);
  clients = [0, 1].map((door) => new Client(`client ${door}`, { dice: dice.of(`client ${door}`), origins: [{ relay: stack.doors[door] }], key: key.key, habit: 'steady', vault: null }));
  await Promise.all(clients.map((client) => client.start()));
  writers = groups.map((group) => new Writer(group, { dice: dice.of(group.name), origins: stack.origins, written }));
  callers = [0, 0, 1, 1].map((door, place) => new Reader(`reader ${place}`, door, { ...common, dice: dice.of(`reader ${place}`), groups, key, decision }));
  callers.push(...[0, 1].map((place) => new Glutton(`glutton ${place}`, { ...common, dice: dice.of(`glutton ${place}`), key: metered, limit: LIMIT })));
  callers.push(...stack.doors.map((_, door) => new Stranger(`stranger ${door}`, door, { doors: stack.doors, answers: harm, dice: dice.of(`stranger ${door}`) })));
  callers.push(new Crowd('crowd', { ...common, dice: dice.of('crowd'), key: crowded, limit: CROWDED }));
  revoked = new Revoked({ ...common, dice: dice.of('revoked'), description });
  callers.push(revoked);
  for (const actor of [...writers, ...callers]) actor.start();
}

/** A request of the webhooks' owner. */
async function owner(key, method, target, body) {
  return until(`${method} ${target}`, RECOVERY_SECONDS, async () => {
    const answer = await request(stack.doors[0], target, { method, body: JSON.stringify(body), headers: { ...bearer(key.key), 'content-type': 'application/json' } });
    assert.equal(answer.status, 200, answer.text);
    return answer.json.data;
  });
}

/** A decision, signed. */
async function decided(key) {
  const [{ vaults }] = groups;
  const [, chain, address] = /-(\d+)-(0x\w+)$/.exec(vaults[0]);
  const check = { portfolioRef: 'campaign', positions: [{ vaultKey: `${chain}:${address}`, amountUsd: 100 }], limits: { maxSharePerCurator: 1 }, issue: true };
  const { decision } = await owner(key, 'POST', '/v1/graph/check', check);
  return decision.decisionId;
}

/** Whether a list and a detail of every group, at every door, are fresh and as new as `least` says. */
async function isFresh(least) {
  const pages = stack.doors.flatMap((_, door) =>
    groups.flatMap((group) => [
      [door, group, `/v1/vaults?protocol=${group.protocol}&limit=50`, (json) => json.data],
      [door, group, `/v1/vaults/${group.vaults[0]}?points=2`, (json) => [json.data.vault]],
    ]),
  );
  const fresh = await Promise.all(pages.map(async ([door, group, target, rows]) => {
    const { status, headers, json } = await request(stack.doors[door], target, { timeout: 5000 });
    return status === 200 && headers.get('x-cache') !== 'STALE-ERROR' && rows(json).every((row) => numberIn(row) >= least(group.name));
  }));
  return fresh.every(Boolean);
}

/**
 * Waits until everything answers fresh, with what was written until now, takes more, and revokes another key. Nobody helps. Gives
 * the number of probes.
 */
async function recovered() {
  let probes = 0;
  const before = groups.map(({ name }) => written.newest(name));
  const keys = revoked.keys.length;
  await until('everything answers fresh again', RECOVERY_SECONDS, async () => {
    probes += 1;
    const newest = new Map(groups.map(({ name }) => [name, written.newest(name)]));
    const goesOn = groups.every(({ name }, place) => newest.get(name) > before[place]);
    return goesOn && revoked.keys.length > keys && (await stack.isReady()) && (await isFresh((group) => newest.get(group)));
  }, PROBE_MILLIS);
  return probes;
}

/** Takes a backup while all goes on: of each group `held` is surely in it, and `kept` the most that may be; `steps` were made before it. */
async function backUp(name) {
  // What was committed before it began is in it, and of what was begun before it ended some may be.
  const held = new Map(groups.map(({ name: group }) => [group, written.newest(group)]));
  const steps = await count('incarnation');
  const folder = await stack.disk.backUp(stack.postgres, name);
  const kept = new Map(writers.map(({ group, batches }) => [group.name, batches.length]));
  return { folder, held, kept, steps };
}

/** Takes a backup, lets time pass, and puts it in the place of what was written since. */
async function restore(die, { stopsOrigins }) {
  const backup = await backUp('backup');
  await sleep(die.between(2000, 5000));
  await putBack(backup, { stopsOrigins });
}

/**
 * Two restores from one backup. Whoever was in the first past, and comes back when the second has come further than that, must not be
 * given the second's operations as if they followed the first's.
 */
async function restoreTwice(die) {
  const backup = await backUp('twice');
  for (const leaves of [false, true]) {
    await sleep(die.between(2000, 4000));
    await putBack(backup, { stopsOrigins: die.chance(0.5), leaves });
  }
}

/** A restore, and then one from a backup that is older: it knows nothing of the first one's step. */
async function restoreOlder(die) {
  const old = await backUp('old');
  await sleep(die.between(1000, 2000));
  await restore(die, { stopsOrigins: die.chance(0.5) });
  await sleep(die.between(1000, 3000));
  await putBack(old, { stopsOrigins: die.chance(0.5), leaves: true });
}

/** A change of primary that loses nothing, so that nobody is told of anything; and then a restore from before it. */
async function restorePromoted(die) {
  const { postgres, disk } = stack;
  const backup = await backUp('promoted');
  await stack.without([postgres], async () => {
    await postgres.end('SIGINT');
    disk.promote();
  });
  await until('the change of primary was noticed', RECOVERY_SECONDS, async () => (await count('incarnation')) > backup.steps, PROBE_MILLIS);
  await sleep(die.between(2000, 4000));
  await putBack(backup, { stopsOrigins: die.chance(0.5), leaves: true });
}

/**
 * Puts a backup in the place of what was written since, and what was written is sent again. Where somebody `leaves`, one client goes
 * before that and comes back when this past has given more numbers than the one that it was in.
 */
async function putBack({ folder, held, kept, steps }, { stopsOrigins, leaves }) {
  const { postgres, disk, origins } = stack;
  // What is lost is known: everybody finishes what they are at.
  await Promise.all([...writers, revoked].map((actor) => actor.rest()));
  await arrived();
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
  await until('the state of the backup is shown at every door', RECOVERY_SECONDS, async () => (await stack.isReady()) && (await isAsKept(kept, steps)), PROBE_MILLIS);
  fault.to = performance.now();
  await sleep(2000);
  fault.until = performance.now();
  for (const { group, batches } of writers) for (let number = held.get(group.name) + 1; number <= batches.length; number += 1) said.add(`${group.name} ${number}`);
  await Promise.all(writers.map((writer) => writer.sayAgain(held.get(writer.group.name))));
  for (const actor of [...writers, revoked]) actor.goOn();
  if (!leaves) return;
  await until('this past has given more numbers than the one before', RECOVERY_SECONDS, async () => (await numbersGiven()) > given, PROBE_MILLIS);
  for (const client of away) client.comeBack();
}

const count = async (table) => (await stack.postgres.ask(`select count(*)::int as rows from ${table}`))[0].rows;

/** How many numbers the journal has given since the last step. */
async function numbersGiven() {
  const [{ given }] = await stack.postgres.ask('select (head - coalesce((select max(to_seq) from incarnation), 0))::text as given from journal_state');
  return BigInt(given);
}

/**
 * Whether a restore is over: the service has stepped once more than the backup had, the edge has acknowledged that all facts may be
 * others, and what nobody asked before is as the backup has it, at every door.
 */
async function isAsKept(kept, before) {
  const sql = `
    select (select count(*)::int from incarnation) as steps,
           not exists (select from data_tag t left join edge_tag e using (tag) where t.version > coalesce(e.version, 0)) as is_told`;
  const [{ steps, is_told: isTold }] = await stack.postgres.ask(sql);
  if (!isTold || steps <= before) return false;
  const pages = stack.doors.flatMap((door) => groups.map(async ({ name, protocol }) => {
    const { status, json } = await request(door, unasked(`/v1/vaults?protocol=${protocol}`), { timeout: 5000 });
    return status === 200 && json.data.every((row) => numberIn(row) <= kept.get(name));
  }));
  return (await Promise.all(pages)).every(Boolean);
}

/** One round: something is broken, let go of, and everything comes back by itself. */
async function round(number, [what, { act, hit, fills }]) {
  await sleep(dice.between(500, 2000));
  const fault = { what, hit, fills, from: performance.now(), to: Infinity };
  stack.faults.push(fault);
  await act(dice);
  const let_go = performance.now();
  const probes = await recovered().catch((error) => {
    throw new Error(`${what}: ${error.message}; ${missing()}\n${stack.lastWords()}`, { cause: error });
  });
  fault.to = performance.now();
  console.log(`round ${number}: ${what}, broken for ${seconds(let_go - fault.from)}, whole again ${seconds(fault.to - let_go)} later (${probes} probes)`);
}

const seconds = (millis) => `${(millis / 1000).toFixed(1)} s`;
const missing = () => groups.map(({ name }) => `${name} is at ${written.newest(name)}`).join(', ');

/** The campaign's own frames and deliveries: others tell of what the service found by itself. */
const isOurs = ({ title }) => title === undefined || /^(north|south) \d+$/.test(title);
const ours = () => clients.map((client) => ({ ...client, frames: client.frames.filter(isOurs) }));
const received = () => endpoints.receipts.filter(isOurs);

/**
 * Waits until streams and webhooks have told of everything that was written, or nothing helps: what is missing then is the verdict's.
 * What a machine put off whose clock was ahead comes when its time has come: after a while that time is let come.
 */
async function arrived() {
  const all = () => pushed.lostOnStreams(ours(), written.committed).length + pushed.lostDeliveries(HOOKS, received(), written.committed).length === 0;
  const within = (limit) => until('all of it has arrived', limit, all, PROBE_MILLIS).then(() => true, () => false);
  if (await within(SETTLE_SECONDS)) return;
  await stack.advance(PUT_OFF_SECONDS);
  await within(SETTLE_SECONDS);
  await stack.advance(-PUT_OFF_SECONDS);
}

/** The faults of this run, in the order of their rounds: all that this machine can have, before any comes again. */
function drawn() {
  const faults = Object.entries(faultsOf(stack, { writers, restore, restoreTwice, restoreOlder, restorePromoted }));
  for (const [what, { why }] of faults) if (why) skipped.set(what, why);
  const possible = faults.filter(([what, { why }]) => why === undefined && ONLY.test(what));
  const order = [];
  while (order.length < ROUNDS) {
    const rest = possible.toSorted().map((fault) => [dice.fraction(), fault]).toSorted(([one], [two]) => one - two);
    order.push(...rest.map(([, fault]) => fault));
  }
  return order.slice(0, ROUNDS);
}

before(async () => {
  console.log(`seed ${SEED}, ${ROUNDS} rounds`);
  await set();
  const faults = drawn();
  for (const [what, why] of skipped) console.log(`left out: ${what}, because ${why}`);
  await recovered();
  for (const [place, fault] of faults.entries()) await round(place + 1, fault);
  await Promise.all(writers.map((writer) => writer.rest()));
  await arrived();
  await Promise.all([...callers, ...writers].map((actor) => actor.stop()));
  const kinds = grouped(answers.all, ({ status, cache }) => `${status}${cache ? ` ${cache}` : ''}`);
  console.log(`${answers.all.length} answers (${[...kinds].map(([kind, of]) => `${of.length} ${kind}`).join(', ')}), ${written.committed.size} batches, ${revoked.keys.length} keys revoked`);
}, { timeout: (240 + ROUNDS * 150) * 1000 });

after(async () => {
  for (const actor of [...writers, ...callers, ...clients]) actor.stop();
  await stack?.stop();
  await endpoints?.stop();
});

/** What the origins logged of the request whose answer this is. */
function logged(answer) {
  const [, id] = answer.match(/"request_id":"(\w+)"/) ?? [];
  const log = ['origin-a', 'origin-b'].map((name) => readFileSync(join(description.logs, `${name}.log`), 'utf8')).join('\n');
  return (id && log.split('\n').find((line) => line.includes(id))) ?? 'nothing was logged of it';
}

/** Fails with the first violations. */
function none(violations) {
  const { length } = violations;
  assert.equal(length, 0, `${length}: ${violations.slice(0, SHOWN).join('\n  ')}\nseed ${SEED}: ${stack.faults.map(({ what, from, to }) => `${what} ${Math.round(from)}-${Math.round(to)}`).join('; ')}`);
}

describe('after every fault of the whole stack', () => {
  test('there was something to go wrong', () => {
    assert.equal(stack.faults.length, ROUNDS);
    assert.ok(written.committed.size > ROUNDS * 4, `${written.committed.size} batches`);
    assert.ok(revoked.keys.length > 0, 'no key was revoked');
    for (const kind of ['list', 'detail', 'events', 'verify', 'metered', 'crowded', 'revoked']) assert.ok(answers.all.some((answer) => answer.kind === kind && answer.status === 200), kind);
    for (const limited of ['metered', 'crowded']) assert.ok(answers.all.some(({ kind, status }) => kind === limited && status === 429), `the limit of ${limited} was never reached`);
  });

  test('no list mixes two states', () => none(verdict.torn(answers.all)));
  test('nothing was shown that nobody had written', () => none([...verdict.invented(answers.all, written), ...verdict.inventedEvents(answers.all, written)]));
  test('for nobody did anything go back, but by a restore', () => none(verdict.wentBack(answers.all, restores)));
  test('what a restore undid is shown to nobody once it is over', () => none(verdict.undone(answers.all, restores)));
  test('no ETag names two contents', () => none(verdict.ambiguousTags(answers.all)));
  test('every failure is told as the interface says', () => none(verdict.undocumented(answers.all)));
  test('nothing failed while nothing was broken', () => none(verdict.unprovoked(answers.all, stack.faults)));
  test('no stranger made an error of ours while nothing was broken', () => {
    assert.ok(harm.filter(({ status }) => status > 0).length > ROUNDS * 10, `${harm.length} requests of strangers`);
    none(verdict.provoked(harm, stack.faults));
  });
  test('nothing ended by itself but a Postgres that could not write', () => none(verdict.unexpectedEndings(stack.endings, stack.faults)));
  test('nobody was let in beyond a limit, and no place was given twice', () => none(verdict.overLimit(answers.all)));
  test('no revoked key was let in after its revocation was acknowledged', () => none(verdict.admittedRevoked(answers.all)));
  test('a signed decision is proven whatever is broken', () => none(verdict.unproven(answers.all)));
  test('no batch was refused', () => none(writers.flatMap(({ refusals }) => refusals).map((refusal) => `${refusal}\n    ${logged(refusal)}`)));

  test('every state that was committed is in the history', async () => {
    const kept = new Map();
    for (const { name, vaults } of groups) {
      const { json } = await request(stack.doors[0], `/v1/vaults/${vaults[0]}?points=2160`);
      kept.set(name, new Set(json.data.snapshots.map(numberIn)));
    }
    none(verdict.lostStates(kept, written));
  });

  test('every client of a stream was shown every event', () => none(pushed.lostOnStreams(ours(), written.committed)));
  test('and none that was not committed', () => none(pushed.inventedOnStreams(ours(), written.committed)));
  test('nobody was shown anything twice, but after being told that its place is gone', () => none(ours().flatMap((client) => pushed.repeatedOnStreams(verdict.lives(client)))));
  test('whoever held a place that a restore undid was told', () => none(verdict.untold(clients, restores)));
  test('no number was given to two operations, in whatever past', () => none(verdict.givenTwice(clients)));
  test('every webhook was told of every event', () => none(pushed.lostDeliveries(HOOKS, received(), written.committed)));
  test('and of no other', () => none(pushed.inventedDeliveries(HOOKS, received(), written.committed)));
  test('an event kept its id and its content over every attempt and restore', () => none(pushed.changedEvents(received().filter(({ title }) => !said.has(title)))));
});
