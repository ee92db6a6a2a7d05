// The fault campaign: two origins and a Postgres are killed, stopped and frozen while operations are made, numbered, streamed and
// delivered to receivers that misbehave; then what was committed is compared with what arrived.
//
// `cargo xtask test faults --seed N --rounds N` runs it. The seed decides what is broken, and behind which moment; the machine's
// timing decides what exactly that hits.

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
import { DirectProducer, Ledger, Reporter, VAULT } from './producers.mjs';
import { Client, numberOf } from './streams.mjs';
import * as verdict from './verdict.mjs';

const SEED = Number(process.env.RDS_SEED ?? 1);
const ROUNDS = Number(process.env.RDS_ROUNDS ?? 4);
const description = JSON.parse(readFileSync(process.env.RDS_CAMPAIGN, 'utf8'));
/** Nothing has arrived for so long: longer than a lease, which a killed process left. */
const STILL_SECONDS = 60;
/** However slow the machine: after so long the verdict is asked for. */
const SETTLE_SECONDS = 600;
/** The most violations that a failed test shows. */
const SHOWN = 10;
const HOOKS = [
  { path: '/well', families: ['event.published', 'event.retracted', 'rating.changed', 'security_event.published'] },
  { path: '/rating', families: ['rating.changed'] },
  { path: '/bad', families: ['event.published', 'rating.changed'] },
  { path: '/worse', families: ['event.published', 'event.retracted'] },
];
const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

const dice = new Dice(SEED);
const doors = dice.of('doors');
const ledger = new Ledger();
let cluster;
let endpoints;
let clients = [];
let key;

/** What is waited for before something is broken: it is then broken in the middle of what follows. */
const moments = { commit: new Set(), frame: new Set(), delivery: new Set() };
const happened = (moment) => () => {
  for (const go of moments[moment]) go();
  moments[moment].clear();
};
const next = (moment) => Promise.race([new Promise((go) => moments[moment].add(go)), sleep(2000)]);

/** A request of the webhooks' owner, to one of the origins. */
async function owner(method, target, body) {
  const answer = await doors.pick(cluster.origins).ask(key.principal, method, target, body && JSON.stringify(body));
  assert.equal(answer.status, 200, answer.text);
  return answer.json.data;
}

/** What a diligent owner does: a webhook that was paused is enabled again. */
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

/** One round: somebody misbehaves, something is broken behind a moment, and all of it comes back. */
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

/** Waits until everything has arrived, or nothing more does: what is missing then is the verdict's. */
async function settle() {
  for (const client of clients) client.calm();
  const arrived = () => verdict.lostOnStreams(clients, ledger.committed).length + verdict.lostDeliveries(HOOKS, endpoints.receipts, ledger.committed).length === 0;
  const count = () => endpoints.receipts.length + clients.reduce((sum, { frames }) => sum + frames.filter(({ title }) => title).length, 0);
  const begun = performance.now();
  let [seen, since] = [count(), begun];
  while (!arrived() && performance.now() < Math.min(since + STILL_SECONDS * 1000, begun + SETTLE_SECONDS * 1000)) {
    // A failed attempt is made again when its time has come: it is let come.
    await Promise.allSettled([cluster.advance(60), enablePaused()]);
    await sleep(1000);
    if (count() > seen) [seen, since] = [count(), performance.now()];
  }
  const gaps = clients.flatMap(({ frames }) => frames.filter(({ gap }) => gap).map(({ gap }) => gap.reason));
  const connections = clients.reduce((sum, client) => sum + client.connections, 0);
  console.log(
    `${ledger.committed.size} operations committed, ${ledger.undone.size} undone; ${connections} connections of ${clients.length} clients, ` +
      `gaps: ${[...new Set(gaps)].map((reason) => `${gaps.filter((one) => one === reason).length} ${reason}`).join(', ') || 'none'}; ` +
      `${endpoints.receipts.length} attempts at deliveries, ${endpoints.receipts.filter(({ answered }) => answered).length} taken`,
  );
  // What must not come any more has had the time to come, and so has the last checkpoint.
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

/** Fails with the first violations, and with what the service said last. */
function none(violations) {
  const { length } = violations;
  assert.equal(length, 0, `${length}: ${violations.slice(0, SHOWN).join('; ')}\nseed ${SEED}\n${length > 0 ? cluster.lastWords() : ''}`);
}

describe('after every fault', () => {
  test('there was something to lose', () => {
    assert.equal(cluster.faults.length, ROUNDS);
    assert.ok(ledger.committed.size > ROUNDS * 20 && ledger.undone.size > 0, `${ledger.committed.size} and ${ledger.undone.size}`);
    for (const { name, frames } of clients) assert.ok(frames.length > 0, name);
    for (const { path } of HOOKS) assert.ok(endpoints.receipts.some((receipt) => receipt.path === path), path);
  });

  test('every client was shown every committed operation', () => none(verdict.lostOnStreams(clients, ledger.committed)));
  test('nothing was shown that was not committed', () => none(verdict.inventedOnStreams(clients, ledger.committed)));
  test('ids grew, and nobody was shown anything twice', () => none(verdict.repeatedOnStreams(clients)));
  test('an id belongs to one operation, for everybody', () => none(verdict.renumbered(clients)));
  test('nobody was led past a number without a word', () => none(verdict.skipped(clients, ledger.committed)));
  test('every gap has a reason, and ends what it says that it ends', () => none(verdict.unexplained(clients)));
  test('what was committed before something began comes before it', () => none(verdict.reordered(clients, ledger.committed)));
  test('every webhook was told of everything that it asked for', () => none(verdict.lostDeliveries(HOOKS, endpoints.receipts, ledger.committed)));
  test('no webhook was told of anything else', () => none(verdict.inventedDeliveries(HOOKS, endpoints.receipts, ledger.committed)));
  test('an event kept its id and its content', () => none(verdict.changedEvents(endpoints.receipts)));
  test('what was taken came again only where a fault hid that', () => none(verdict.repeatedDeliveries(endpoints.receipts, cluster.faults)));
  test('every delivery was signed, and no redirect followed', () => assert.deepEqual([endpoints.forged, endpoints.strays], [[], []]));
});
