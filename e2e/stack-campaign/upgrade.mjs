// From another release to this one and back, while clients use the service: the schema is migrated, the origins are replaced one after the
// other behind a balancer, and both versions of the Worker answer all the time. No client may notice.
//
// `cargo xtask test faults --campaign upgrade --from REV` runs it. "Old" is the release at REV, "new" is this tree.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Dice } from '../campaign/dice.mjs';
import { Client } from '../campaign/streams.mjs';
import * as pushed from '../campaign/verdict.mjs';
import { mint, verb } from '../operator.mjs';
import { request, until } from '../stack.mjs';
import { Reader } from './callers.mjs';
import { Answers, Written } from './record.mjs';
import { Stack } from './stack.mjs';
import * as verdict from './verdict.mjs';
import { Group, Writer, lines, statesInHistory } from './writers.mjs';

const SEED = Number(process.env.RDS_SEED ?? 1);
const description = JSON.parse(readFileSync(process.env.RDS_CAMPAIGN, 'utf8'));
/** Time limit for a part to be ready. */
const READY_SECONDS = 60;
/** Batches that each writer has acknowledged between two steps. */
const BATCHES = 12;
/** The seat of the old Worker: it hosts the Durable Objects, as on the day before a release. */
const OLD_SEAT = 1;
const MAX_SHOWN = 8;

const dice = new Dice(SEED);
const groups = ['north', 'south'].map((name, place) => new Group(name, place));
const written = new Written(groups.map(({ name }) => name));
const answers = new Answers();
/** `{what, from, to}` of every step, by `performance.now()`. */
const steps = [];
let [stack, balancer] = [];
let [writers, readers, clients] = [[], [], []];

const NEW = description.origin_bin;
const OLD = description.other_origin_bin;

/** haproxy before the edge listeners of both origins: it asks the relay listeners whether they are ready, and leaves out the one that is not. */
function startBalancer() {
  const server = ({ edge, relay }, place) => `  server origin-${place} ${new URL(edge).host} check port ${new URL(relay).port} inter 200ms fall 1 rise 1`;
  const file = join(description.logs, 'haproxy.cfg');
  writeFileSync(file, `defaults
  mode http
  timeout connect 2s
  timeout client 70s
  timeout server 70s
  retries 3
  option redispatch 1
  retry-on conn-failure empty-response
frontend origins
  bind ${description.balancer}
  default_backend origins
backend origins
  balance roundrobin
  option httpchk GET /ready
${stack.origins.map(server).join('\n')}
`);
  const libraries = process.env.RDS_PROXY_LIBS;
  const env = libraries ? { ...process.env, LD_LIBRARY_PATH: libraries } : process.env;
  const child = spawn(JSON.parse(process.env.RDS_PROXIES).haproxy, ['-db', '-f', file], { env, stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

/** Runs a command of one release, as an operator does. */
const operate = (program, ...words) => verb({ ...description, origin_bin: program }, ...words);

async function setUp() {
  stack = await Stack.start(description, { RDS_LOG: 'warn' });
  stack.edge.seat = OLD_SEAT;
  for (const origin of stack.origins) origin.program = OLD;
  balancer = startBalancer();
  await stack.postgres.start();
  await operate(OLD, 'migrate');
  await operate(OLD, 'simulate', '--seed', '7', '--vaults', '40', '--hours', '12');
  for (const part of [...stack.origins, stack.edge]) part.launch();
  await stack.ready(READY_SECONDS);
  await operate(OLD, 'signers', 'activate', '--at', '2020-01-01T00:00:00Z');
  const at = new Date(Date.now() - 60_000).toISOString();
  for (const group of groups) {
    const answer = await stack.origins[0].operate('/ingest', { method: 'POST', body: lines(group.beginning(at)), timeout: 30_000 });
    assert.equal(answer.status, 200, answer.text);
  }
  await operate(OLD, 'graph', 'build');
  const key = await mint({ ...description, origin_bin: OLD }, { plan: 'decisioning', rpm: 100_000 });
  const decision = await issueDecision(key);
  writers = groups.map((group) => new Writer(group, { dice: dice.of(group.name), origins: stack.origins, written }));
  const common = { edgeUrls: stack.edgeUrls, answers, groups, key, decision };
  readers = [0, 1, 0, 1].map((edgeIndex, place) => new Reader(`reader ${place}`, edgeIndex, { ...common, dice: dice.of(`reader ${place}`) }));
  clients = [0, 1].map((edgeIndex) => new Client(`client ${edgeIndex}`, { dice: dice.of(`client ${edgeIndex}`), origins: [{ relay: stack.edgeUrls[edgeIndex] }], key: key.key, habit: 'steady', vault: null }));
  await Promise.all(clients.map((client) => client.start()));
  for (const actor of [...writers, ...readers]) actor.start();
}

async function issueDecision(key) {
  const [, chain, address] = /-(\d+)-(0x\w+)$/.exec(groups[0].vaults[0]);
  const check = { portfolioRef: 'upgrade', positions: [{ vaultKey: `${chain}:${address}`, amountUsd: 100 }], limits: { maxSharePerCurator: 1 }, issue: true };
  return until('a decision is issued', READY_SECONDS, async () => {
    const answer = await request(stack.edgeUrls[0], '/v1/graph/check', { method: 'POST', body: JSON.stringify(check), headers: { ...key.headers, 'content-type': 'application/json' } });
    assert.equal(answer.status, 200, answer.text);
    return answer.json.data.decision.decisionId;
  });
}

/** One step, and then some load on what it leaves. */
async function step(what, act) {
  const taken = { what, from: performance.now(), to: Infinity };
  steps.push(taken);
  await act();
  taken.to = performance.now();
  const before = writers.map(({ batches }) => batches.length);
  await until(`writes go on after ${what}`, READY_SECONDS, () => writers.every(({ batches }, place) => batches.length >= before[place] + BATCHES));
  console.log(`${what}: ${((taken.to - taken.from) / 1000).toFixed(1)} s`);
}

/** Replaces an origin by that of another release: it stops as a service manager stops it, and the balancer leaves it out meanwhile. */
async function replace(place, program) {
  const origin = stack.origins[place];
  await origin.end('SIGTERM');
  origin.program = program;
  origin.launch();
  await until(`${origin.name} is ready`, READY_SECONDS, () => origin.isReady());
}

before(async () => {
  console.log(`seed ${SEED}`);
  await setUp();
  await step('the load alone', () => Promise.resolve());
  await step('the new release migrates the schema', () => operate(NEW, 'migrate'));
  await step('origin a is the new release', () => replace(0, NEW));
  await step('origin b is the new release', () => replace(1, NEW));
  await step('origin a is the old release again, on the newer schema', () => replace(0, OLD));
  await step('origin b is the old release again, on the newer schema', () => replace(1, OLD));
  await step('origin a is the new release again', () => replace(0, NEW));
  await Promise.all(writers.map((writer) => writer.rest()));
  await until('the streams have every event', READY_SECONDS, () => pushed.lostOnStreams(ours(), written.committed).length === 0).catch(() => {});
  await Promise.all([...readers, ...writers].map((actor) => actor.stop()));
  console.log(`${answers.all.length} answers, ${written.committed.size} batches`);
}, { timeout: 900_000 });

after(async () => {
  for (const actor of [...writers, ...readers, ...clients]) actor.stop();
  balancer?.kill('SIGKILL');
  await stack?.stop();
});

const isOurs = ({ title }) => title === undefined || /^(north|south) \d+$/.test(title);
const ours = () => clients.map((client) => ({ ...client, frames: client.frames.filter(isOurs) }));

function expectNone(violations) {
  const during = ({ from, to, what }) => `${what} ${Math.round(from)}-${Math.round(to)}`;
  assert.equal(violations.length, 0, `${violations.length}: ${violations.slice(0, MAX_SHOWN).join('\n  ')}\nseed ${SEED}: ${steps.map(during).join('; ')}\n${stack.lastWords()}`);
}

describe('while a release replaces another, and is taken back', () => {
  test('the load was as planned', () => {
    assert.ok(answers.all.length > steps.length * 20, `${answers.all.length} answers`);
    for (const edgeIndex of [0, 1]) assert.ok(answers.all.some((answer) => answer.edgeIndex === edgeIndex && answer.status === 200));
    for (const kind of ['list', 'detail', 'events', 'verify', 'chains']) assert.ok(answers.all.some((answer) => answer.kind === kind && answer.status === 200), kind);
  });

  test('no request failed, and none got an old answer for want of an origin', () => {
    const failed = answers.all.filter(({ status, cache }) => ![200, 304].includes(status) || cache === 'STALE-ERROR');
    expectNone(failed.map(({ who, target, status, broke, code, cache, began, ended }) => `${who}: ${target}: ${status || broke} ${code ?? cache} ${Math.round(began)}-${Math.round(ended)}`));
  });

  test('each list shows a single state, and none that is older than one seen before', () => expectNone([...verdict.torn(answers.all), ...verdict.wentBack(answers.all, [])]));
  test('everything shown had been written', () => expectNone([...verdict.invented(answers.all, written), ...verdict.inventedEvents(answers.all, written)]));
  test('a signed decision was proved all the time', () => expectNone(verdict.unproven(answers.all)));
  test('no batch was refused', () => expectNone(writers.flatMap(({ refusals }) => refusals)));

  test('every acknowledged state is in the history', async () => {
    expectNone(verdict.lostStates(await statesInHistory(groups, stack.edgeUrls[0]), written));
  });

  test('every stream got every event once, without a gap', () => {
    expectNone([...pushed.lostOnStreams(ours(), written.committed), ...pushed.inventedOnStreams(ours(), written.committed)]);
    expectNone(ours().flatMap((client) => pushed.repeatedOnStreams(verdict.lives(client))));
    expectNone(clients.flatMap(({ name, frames }) => frames.filter(({ gap }) => gap).map(() => `${name}: a gap`)));
  });
});
