// The crowd: thousands of stream clients connect, stall, vanish and come back while origins are killed. Nobody may miss or repeat an operation
// without being told, and descriptors and memory must return to where they were.
//
// `cargo xtask test faults --campaign crowd --seed N --rounds N` runs it; it is no part of a whole test run.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { mint, verb } from '../operator.mjs';
import { freePorts } from '../private-stack.mjs';
import { until } from '../stack.mjs';
import { Cluster } from './cluster.mjs';
import { Dice } from './dice.mjs';

const SEED = Number(process.env.RDS_SEED ?? 1);
const ROUNDS = Number(process.env.RDS_ROUNDS ?? 4);
const CLIENTS = Number(process.env.RDS_CLIENTS ?? 10_000);
/** Streams that one key may have. */
const STREAMS_PER_KEY = 200;
/** More keys than the clients need, because the streams of a killed process count until it is known to be dead. */
const KEYS = Math.ceil((3 * CLIENTS) / STREAMS_PER_KEY);
/** Connections that are opened at a time. */
const OPENING = 200;
/** Longest pause before the second attempt to connect, and before any later one, in milliseconds: it doubles, as in client libraries. */
const FIRST_PAUSE = 400;
const LONGEST_PAUSE = 8000;
/** Milliseconds between two operations. */
const PACE = 500;
/** Tides without a fault, after which descriptors and memory are compared. */
const TIDES = 3;
const MAX_SHOWN = 10;
const description = JSON.parse(readFileSync(process.env.RDS_CAMPAIGN, 'utf8'));
const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

const dice = new Dice(SEED);
let cluster;
let keys = [];
let writer;
/** Operations that were committed. */
let written = 0;
let writing = true;

/** Commits one operation after the other; a failed one is tried again under the same id. */
async function write() {
  while (writing) {
    const id = randomUUID();
    for (;;) {
      try {
        const sql = `insert into push_operation (recorded_at, stream_op, event_id, vault_ids, chain_ids, body)
          select now(), 'published', $1, '{}', '{}', convert_to($2, 'UTF8') where not exists (select from push_operation where event_id = $1)`;
        await cluster.postgres.ask(sql, [id, JSON.stringify({ title: `operation ${written}` })]);
        break;
      } catch {
        await sleep(100);
      }
    }
    written += 1;
    await sleep(PACE);
  }
}

/** A client, over all of its connections. */
class Member {
  constructor(number) {
    Object.assign(this, { number, dice: dice.of(`member ${number}`), wanted: true, cursor: null, seen: 0, gaps: 0, violations: [], connections: 0 });
  }

  get isOpen() {
    return this.socket !== undefined && !this.socket.destroyed && this.isReady;
  }

  /** Connects until the stream is open; gives up when the client is no longer wanted. A client never connects twice at a time. */
  come() {
    this.coming ??= this.tryUntilOpen().finally(() => {
      this.coming = undefined;
    });
    return this.coming;
  }

  async tryUntilOpen() {
    for (let most = FIRST_PAUSE; this.wanted && !this.isOpen; most = Math.min(2 * most, LONGEST_PAUSE)) {
      await this.connection().catch(() => {}); // Whatever happened, it tries again.
      if (!this.isOpen) await sleep(this.dice.between(most / 4, most));
    }
  }

  connection() {
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(this.dice.pick(cluster.origins).relay);
      const key = keys[Math.floor((this.number * KEYS) / CLIENTS + this.dice.between(0, KEYS - 1)) % KEYS];
      const resume = this.cursor === null ? '' : `last-event-id: ${this.cursor}\r\n`;
      const socket = connect(Number(port), hostname);
      Object.assign(this, { socket, isReady: false, text: '' });
      socket.setEncoding('utf8');
      socket.once('connect', () => socket.write(`GET /v1/events/stream HTTP/1.1\r\nhost: relay\r\naccept: text/event-stream\r\nauthorization: Bearer ${key}\r\n${resume}\r\n`));
      socket.on('data', (piece) => {
        if (this.socket !== socket) return;
        this.take(piece);
        if (this.isReady) resolve();
      });
      socket.on('error', () => {}); // `close` follows.
      socket.once('close', () => {
        reject(new Error('closed'));
        if (this.socket === socket && this.wanted) void this.come();
      });
      socket.setTimeout(30_000, () => socket.destroy());
    });
  }

  take(piece) {
    this.text += piece;
    for (;;) {
      const end = this.text.indexOf('\n\n');
      if (end < 0) break;
      this.frame(this.text.slice(0, end));
      this.text = this.text.slice(end + 2);
    }
    if (!this.isReady && /^HTTP\/1.1 (?!200)/.test(this.text)) this.socket.destroy();
  }

  frame(text) {
    const field = (name) => text.match(new RegExp(`^${name}: ?(.*)$`, 'm'))?.[1];
    const [event, id] = [field('event'), field('id')];
    if (event === 'ready') {
      this.isReady = true;
      this.connections += 1;
      this.cursor ??= JSON.parse(field('data')).replay.cursor;
      return;
    }
    if (event === 'gap') {
      this.gaps += 1;
      this.cursor = JSON.parse(field('data')).cursor ?? this.cursor;
      return;
    }
    if (id === undefined) return;
    const [now, before] = [numberOf(id), numberOf(this.cursor)];
    if (event === 'published') {
      this.seen += 1;
      if (now !== before + 1n) this.violations.push(`client ${this.number}: operation ${now} after ${before}`);
    } else if (now < before) {
      this.violations.push(`client ${this.number}: position ${now} after ${before}`);
    }
    this.cursor = id;
  }

  /** Disconnects without a word. */
  vanish() {
    this.wanted = false;
    this.socket?.destroy();
  }

  return() {
    this.wanted = true;
    return this.come();
  }

  /** Does not read for a while. */
  async stall(millis) {
    this.socket?.pause();
    await sleep(millis);
    this.socket?.resume();
  }
}

const numberOf = (cursor) => BigInt(/^v2:(\d+)$/.exec(cursor)[1]);

/** Runs `act` for each of `members`, some at a time. */
async function each(members, act) {
  const left = [...members];
  await Promise.all(Array.from({ length: OPENING }, async () => {
    for (let member = left.pop(); member !== undefined; member = left.pop()) await act(member);
  }));
}

/** A gauge of an origin. */
async function gauge(origin, name) {
  const { text } = await origin.operate('/metrics', { timeout: 20_000 });
  return Number(text.match(new RegExp(`^${name} (.*)$`, 'm'))[1]);
}

/** Descriptors and memory of the origins once no stream is open. */
async function ebb() {
  for (const origin of cluster.origins) await until(`${origin.name} has no stream`, 120, async () => (await gauge(origin, 'rds_streams_open')) === 0);
  await sleep(5000); // Connections of the pools and freed memory are given back within seconds.
  return Promise.all(cluster.origins.map(async (origin) => ({
    files: await gauge(origin, 'process_open_fds'),
    bytes: await gauge(origin, 'process_resident_memory_bytes'),
  })));
}

const members = Array.from({ length: CLIENTS }, (_, number) => new Member(number));
const ebbs = [];

async function round(number) {
  const some = (part) => members.filter(() => dice.chance(part));
  const [vanishing, stalling] = [some(0.1), some(0.05)];
  const [what, act] = dice.pick(Object.entries(cluster.faultsByName()));
  console.log(`round ${number}: ${what}; ${vanishing.length} vanish, ${stalling.length} stall`);
  const stalled = Promise.all(stalling.map((member) => member.stall(dice.between(500, 5000))));
  for (const member of vanishing) member.vanish();
  await cluster.suffer(what, () => act(dice));
  await each(vanishing, (member) => member.return());
  await stalled;
  await until('everybody is back', 300, () => members.every((member) => member.isOpen));
}

before(async () => {
  console.log(`seed ${SEED}, ${ROUNDS} rounds, ${CLIENTS} clients`);
  cluster = new Cluster(description, await freePorts(6), { RDS_LOG: 'warn' });
  await cluster.postgres.start();
  await verb(description, 'migrate');
  await cluster.start();
  for (let count = 0; count < KEYS; count += 1) keys.push((await mint(description, { rpm: 1_000_000 })).key);
  writer = write();
  await each(members, (member) => member.come());
  for (let number = 1; number <= ROUNDS; number += 1) await round(number);
  for (let tide = 1; tide <= TIDES; tide += 1) {
    for (const member of members) member.vanish();
    ebbs.push(await ebb());
    await each(members, (member) => member.return());
  }
  writing = false;
  await writer;
  const [{ head }] = await cluster.postgres.ask('select head::text from journal_state');
  await until('everybody has everything', 120, () => members.every((member) => numberOf(member.cursor) >= BigInt(head)));
  for (const member of members) member.vanish();
  ebbs.push(await ebb());
});

after(() => cluster?.stop());

describe('A crowd of stream clients', () => {
  test('misses nothing and gets nothing twice, unless a gap says so', () => {
    const violations = members.flatMap((member) => member.violations);
    const sum = (of) => members.reduce((total, member) => total + of(member), 0);
    console.log(`${written} operations; ${sum(({ seen }) => seen)} frames, ${sum(({ gaps }) => gaps)} gaps, ${sum(({ connections }) => connections)} connections`);
    assert.ok(sum(({ seen }) => seen) > CLIENTS, 'every client has received something');
    assert.deepEqual(violations.slice(0, MAX_SHOWN), [], `${violations.length} violations`);
  });

  test('leaves no descriptor behind', () => {
    const files = ebbs.map((origins) => origins.map((origin) => origin.files));
    console.log('open files after each tide:', JSON.stringify(files));
    const [first] = files;
    for (const later of files.slice(1)) later.forEach((count, place) => assert.ok(count <= first[place] + 16, JSON.stringify(files)));
  });

  test('leaves no memory behind', () => {
    const megabytes = ebbs.map((origins) => origins.map((origin) => Math.round(origin.bytes / 1e6)));
    console.log('megabytes in memory after each tide:', JSON.stringify(megabytes));
    const [first] = megabytes;
    for (const later of megabytes.slice(1)) later.forEach((count, place) => assert.ok(count <= 1.15 * first[place] + 8, JSON.stringify(megabytes)));
  });
});
