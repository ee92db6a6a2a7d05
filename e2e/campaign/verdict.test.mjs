// The fault campaign's verdict detects each broken guarantee, and only that one, in a record that is otherwise correct.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as verdict from './verdict.mjs';

const OPERATIONS = [
  { title: 'one', op: 'published', family: 'event.published', vault: 'v', began: 0, ended: 1 },
  { title: 'silent', op: null, family: 'rating.changed', vault: null, began: 2, ended: 3 },
  { title: 'two', op: 'retracted', family: 'event.retracted', vault: null, began: 4, ended: 5 },
  { title: 'three', op: 'promoted', family: null, vault: 'v', began: 6, ended: 7 },
];
const committed = new Map(OPERATIONS.map((operation) => [operation.title, operation]));
const hooks = [{ path: '/all', families: ['event.published', 'event.retracted', 'rating.changed'] }];

/** A record without violations; each test changes one thing. */
function record() {
  const shown = (number, event, title, connection = 1) => ({ connection, event, number, title });
  const all = { name: 'all', vault: null, first: 0n, frames: [shown(1n, 'published', 'one'), shown(3n, 'retracted', 'two', 2), shown(4n, 'promoted', 'three', 2)] };
  const some = { name: 'some', vault: 'v', first: 0n, frames: [shown(1n, 'published', 'one'), shown(3n, 'cursor'), shown(4n, 'promoted', 'three')] };
  const receipt = (title, type, at) => ({ path: '/all', title, type, eventId: `id of ${title}`, body: title, answered: true, at });
  return { clients: [all, some], receipts: [receipt('one', 'event.published', 10), receipt('silent', 'rating.changed', 11), receipt('two', 'event.retracted', 12)], faults: [] };
}

/** Names of the checks of `verdict` that find a violation in the record. */
function broken({ clients, receipts, faults }) {
  const found = {
    lostOnStreams: verdict.lostOnStreams(clients, committed),
    inventedOnStreams: verdict.inventedOnStreams(clients, committed),
    repeatedOnStreams: verdict.repeatedOnStreams(clients),
    renumbered: verdict.renumbered(clients),
    skipped: verdict.skipped(clients, committed),
    unexplained: verdict.unexplained(clients),
    reordered: verdict.reordered(clients, committed),
    lostDeliveries: verdict.lostDeliveries(hooks, receipts, committed),
    inventedDeliveries: verdict.inventedDeliveries(hooks, receipts, committed),
    changedEvents: verdict.changedEvents(receipts),
    repeatedDeliveries: verdict.repeatedDeliveries(receipts, faults),
  };
  return Object.keys(found).filter((promise) => found[promise].length > 0);
}

/** The guarantees broken after a change of the record. */
const after = (change) => {
  const whole = record();
  change(whole);
  return broken(whole);
};

describe("the fault campaign's verdict", () => {
  test('finds no violation in a correct record', () => assert.deepEqual(broken(record()), []));

  test('finds an operation that a client was not shown, and that no gap was sent', () => {
    assert.deepEqual(after(({ clients }) => clients[0].frames.splice(1, 1)), ['lostOnStreams', 'skipped']);
    assert.deepEqual(after(({ clients }) => clients[1].frames.splice(0, 1)), ['lostOnStreams']);
  });

  test('finds an operation that was never committed, one that the filter should exclude, and a wrong event name', () => {
    const rolledBack = { connection: 2, event: 'published', number: 5n, title: 'never' };
    assert.deepEqual(after(({ clients }) => clients[0].frames.push(rolledBack)), ['inventedOnStreams']);
    assert.deepEqual(after(({ clients }) => Object.assign(clients[1].frames[1], { event: 'retracted', title: 'two' })), ['inventedOnStreams']);
    assert.deepEqual(after(({ clients }) => (clients[0].frames[0].event = 'promoted')), ['inventedOnStreams']);
  });

  test('finds a repeated frame, and a sequence number that was skipped or used twice', () => {
    assert.deepEqual(after(({ clients }) => clients[0].frames.push(clients[0].frames[2])), ['repeatedOnStreams']);
    assert.deepEqual(after(({ clients }) => clients.forEach(({ frames }) => (frames[2].number = 5n))), ['skipped']);
    assert.deepEqual(after(({ clients }) => (clients[1].frames[0].number = 2n)), ['renumbered']);
  });

  test('finds an unexpected gap, and a gap that does not end the connection', () => {
    const gap = (reason) => ({ connection: 1, event: 'gap', gap: { reason } });
    assert.deepEqual(after(({ clients }) => clients[0].frames.splice(1, 0, gap('cursor_unknown'))), ['unexplained']);
    assert.deepEqual(after(({ clients }) => clients[0].frames.splice(1, 0, gap('queue_overflow'))), []);
    assert.deepEqual(after(({ clients }) => clients[0].frames.splice(0, 0, gap('queue_overflow'))), ['unexplained']);
  });

  test('finds an effect shown before its cause', () => {
    const swapped = ({ clients: [{ frames }] }) => ([frames[0].title, frames[1].title, frames[0].event, frames[1].event] = ['two', 'one', 'retracted', 'published']);
    assert.deepEqual(after(swapped), ['renumbered', 'reordered']);
  });

  test('finds a delivery that is lost, refused for good, invented, changed or repeated without need', () => {
    assert.deepEqual(after(({ receipts }) => receipts.pop()), ['lostDeliveries']);
    assert.deepEqual(after(({ receipts }) => (receipts[0].answered = false)), ['lostDeliveries']);
    assert.deepEqual(after(({ receipts }) => receipts.push({ ...receipts[0], title: 'never', eventId: 'another' })), ['inventedDeliveries']);
    assert.deepEqual(after(({ receipts }) => receipts.push({ ...receipts[0], eventId: 'another' })), ['changedEvents']);
    assert.deepEqual(after(({ receipts }) => receipts.push({ ...receipts[0], at: 20 })), ['repeatedDeliveries']);
  });

  test('excuses a repetition after a fault or after an attempt that was not accepted', () => {
    const fault = { what: 'killed', from: 15, to: 16 };
    assert.deepEqual(after(({ receipts, faults }) => (receipts.push({ ...receipts[0], at: 20 }), faults.push(fault))), []);
    assert.deepEqual(after(({ receipts }) => receipts.unshift({ ...receipts[0], at: 5, answered: false })), []);
  });
});
