// The fault campaign: two origins and a Postgres are killed, stopped and frozen while operations are written, numbered, streamed and
// delivered to receivers that misbehave. Then it compares what was committed with what arrived.
//
// `cargo xtask test faults --seed N --rounds N` runs it. The seed decides which fault follows which trigger; the machine's timing
// decides which operations the fault hits.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { mint, verb } from '../operator.mjs';
import { freePorts } from '../private-stack.mjs';
import { authority } from '../receiver.mjs';
import { until } from '../stack.mjs';
import { Cluster } from './cluster.mjs';
import { Dice } from './dice.mjs';
import { Endpoints, MANNERS } from './endpoints.mjs';
import * as histories from './histories.mjs';
import { DirectProducer, Ledger, Reporter, VAULT } from './producers.mjs';
import { Client, numberOf } from './streams.mjs';
import * as verdict from './verdict.mjs';

const SEED = Number(process.env.RDS_SEED ?? 1);
const ROUNDS = Number(process.env.RDS_ROUNDS ?? 4);
const description = JSON.parse(readFileSync(process.env.RDS_CAMPAIGN, 'utf8'));
/** Settling ends when nothing has arrived for this long: longer than the lease of a killed process. */
const IDLE_SECONDS = 60;
/** Upper bound on settling, for slow machines. */
const SETTLE_SECONDS = 600;
/** Maximum number of violations that a failed test shows. */
const MAX_SHOWN = 10;
const HOOKS = [
  { path: '/well', families: ['event.published', 'event.retracted', 'rating.changed', 'security_event.published'] },
  { path: '/rating', families: ['rating.changed'] },
  { path: '/bad', families: ['event.published', 'rating.changed'] },
  { path: '/worse', families: ['event.published', 'event.retracted'] },
];
const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

const dice = new Dice(SEED);
const originDice = dice.of('doors');
const ledger = new Ledger();
let cluster;
let endpoints;
let clients = [];
let key;

/** Callbacks that wait for the next event of each kind. A fault shortly after an event interrupts the processing of that event. */
const moments = { commit: new Set(), frame: new Set(), delivery: new Set() };
const happened = (moment) => () => {
  for (const go of moments[moment]) go();
  moments[moment].clear();
};
const next = (moment) => Promise.race([new Promise((go) => moments[moment].add(go)), sleep(2000)]);

/** A request of the webhooks' owner, to one of the origins. */
async function owner(method, target, body) {
  const answer = await originDice.pick(cluster.origins).ask(key.principal, method, target, body && JSON.stringify(body));
  assert.equal(answer.status, 200, answer.text);
  return answer.json.data;
}

/** Enables paused webhooks, as their owner would. */
async function enablePaused() {
  for (const { id, status } of await owner('GET', '/v1/webhooks')) if (status !== 'active') await owner('POST', `/v1/webhooks/${id}/enable`);
}

async function set() {
  cluster = new Cluster(description, await freePorts(6), { RDS_WEBHOOK_CA: (await authority()).file, RDS_LOG: 'warn' });
  await cluster.postgres.start();
  await verb(description, 'migrate');
  await cluster.start();
  key = await mint(description, { plan: 'decisioning', rpm: 100_000 });
  const [{ org_id }] = await cluster.postgres.ask('select org_id::int from api_key where id = $1', [key.id]);
  key.principal = { id: key.id, org_id, plan: 'decisioning' };
  endpoints = new Endpoints(happened('delivery'));
  await endpoints.start();
  for (const hook of HOOKS) {
    const { id, secret } = await owner('POST', '/v1/webhooks', { url: endpoints.url(hook.path), families: hook.families });
    hook.id = id;
    endpoints.secrets.set(hook.path, secret);
  }
  clients = ['steady', 'steady', 'restless', 'restless', 'sleepy', 'filtered'].map((habit, place) => {
    const name = `${habit} ${place}`;
    return new Client(name, { dice: dice.of(name), origins: cluster.origins, key: key.key, habit, vault: VAULT, seen: happened('frame') });
  });
  await Promise.all(clients.map((client) => client.start()));
  for (const client of clients) client.first = numberOf(client.cursor);
}

/** One round: some receivers misbehave, one fault happens shortly after a trigger, and everything recovers. */
async function round(number) {
  const bad = HOOKS.slice(2).map(({ path }) => [path, dice.pick(MANNERS)]);
  const [what, act] = dice.pick(Object.entries(cluster.faultsByName()));
  const [moment, delay] = [dice.pick(Object.keys(moments)), dice.between(0, 40)];
  console.log(`round ${number}: ${what}, ${delay} ms after a ${moment}; ${bad.map(([path, manner]) => `${path} ${manner}`).join(', ')}`);
  for (const [path, manner] of bad) endpoints.behave(path, manner);
  await sleep(dice.between(200, 1200));
  await next(moment);
  await sleep(delay);
  await cluster.suffer(what, () => act(dice));
  await sleep(dice.between(200, 1200));
  endpoints.heal();
  await until('paused webhooks are enabled', 30, () => enablePaused().then(() => true));
}

/** Waits until everything has arrived or nothing more arrives; the verdict reports what is then missing. */
async function settle() {
  for (const client of clients) client.calm();
  const arrived = () => verdict.lostOnStreams(clients, ledger.committed).length + verdict.lostDeliveries(HOOKS, endpoints.receipts, ledger.committed).length === 0;
  const count = () => endpoints.receipts.length + clients.reduce((sum, { frames }) => sum + frames.filter(({ title }) => title).length, 0);
  const begun = performance.now();
  let [seen, since] = [count(), begun];
  while (!arrived() && performance.now() < Math.min(since + IDLE_SECONDS * 1000, begun + SETTLE_SECONDS * 1000)) {
    // Advances the clock, so that the retries of failed attempts become due.
    await Promise.allSettled([cluster.advance(60), enablePaused()]);
    await sleep(1000);
    if (count() > seen) [seen, since] = [count(), performance.now()];
  }
  const gaps = clients.flatMap(({ frames }) => frames.filter(({ gap }) => gap).map(({ gap }) => gap.reason));
  const connections = clients.reduce((sum, client) => sum + client.connections, 0);
  console.log(
    `${ledger.committed.size} operations committed, ${ledger.undone.size} undone; ${connections} connections of ${clients.length} clients, ` +
      `gaps: ${[...new Set(gaps)].map((reason) => `${gaps.filter((one) => one === reason).length} ${reason}`).join(', ') || 'none'}; ` +
      `${endpoints.receipts.length} attempts at deliveries, ${endpoints.receipts.filter(({ answered }) => answered).length} accepted`,
  );
  // Leaves time for unwanted repetitions and for the last checkpoint to arrive.
  await sleep(3000);
}

before(async () => {
  console.log(`seed ${SEED}, ${ROUNDS} rounds`);
  await set();
  const producers = ['a', 'b', 'c', 'd', 'e'].map((name) => new DirectProducer(`direct ${name}`, dice.of(`direct ${name}`), ledger, cluster.postgres));
  producers.push(...['f', 'g'].map((name) => new Reporter(`reported ${name}`, dice.of(`reported ${name}`), ledger, cluster.origins)));
  ledger.watch(happened('commit'));
  for (const producer of producers) producer.start();
  for (let number = 1; number <= ROUNDS; number += 1) await round(number);
  await Promise.all(producers.map((producer) => producer.stop()));
  await ledger.settle(cluster.postgres);
  await settle();
  await Promise.all(clients.map((client) => client.stop()));
}, { timeout: (SETTLE_SECONDS + 180 + ROUNDS * 60) * 1000 });

after(async () => {
  for (const client of clients) client.stop();
  await cluster?.stop();
  await endpoints?.stop();
});

/** Fails with the first violations and the last lines of the logs. */
function none(violations) {
  const { length } = violations;
  assert.equal(length, 0, `${length}: ${violations.slice(0, MAX_SHOWN).join('; ')}\nseed ${SEED}\n${length > 0 ? cluster.lastWords() : ''}`);
}

describe('after every fault', () => {
  test('enough was committed, undone, streamed and delivered for a meaningful verdict', () => {
    assert.equal(cluster.faults.length, ROUNDS);
    assert.ok(ledger.committed.size > ROUNDS * 20 && ledger.undone.size > 0, `${ledger.committed.size} and ${ledger.undone.size}`);
    for (const { name, frames } of clients) assert.ok(frames.length > 0, name);
    for (const { path } of HOOKS) assert.ok(endpoints.receipts.some((receipt) => receipt.path === path), path);
  });

  test('every client was shown every committed operation', () => none(verdict.lostOnStreams(clients, ledger.committed)));
  test('no client was shown an operation that was not committed', () => none(verdict.inventedOnStreams(clients, ledger.committed)));
  test('ids grew, and no client was shown an operation twice', () => none(verdict.repeatedOnStreams(clients)));
  test('an id belongs to the same operation for every client', () => none(verdict.renumbered(clients)));
  test('no client silently missed a sequence number', () => none(verdict.skipped(clients, ledger.committed)));
  test('every gap has an expected reason and ends the connection', () => none(verdict.unexplained(clients)));
  test('an operation committed before another began is shown first', () => none(verdict.reordered(clients, ledger.committed)));
  test('a checker that is not ours finds the journal linearizable', () => console.log(histories.judged(histories.ofJournal(clients, ledger.committed)).trim()));
  test('every webhook got every event that it subscribed to', () => none(verdict.lostDeliveries(HOOKS, endpoints.receipts, ledger.committed)));
  test('no webhook got anything else', () => none(verdict.inventedDeliveries(HOOKS, endpoints.receipts, ledger.committed)));
  test('an event kept its id and its content', () => none(verdict.changedEvents(endpoints.receipts)));
  test('an accepted delivery was repeated only where a fault hid its response', () => none(verdict.repeatedDeliveries(endpoints.receipts, cluster.faults)));
  test('every delivery was signed, and no redirect followed', () => assert.deepEqual([endpoints.forged, endpoints.strays], [[], []]));
});
