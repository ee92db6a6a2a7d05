// The verdict on the whole stack detects each broken guarantee, and no other, in an otherwise correct record.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Answers, Written } from './record.mjs';
import * as verdict from './verdict.mjs';

const LIST = '/v1/vaults?protocol=campaign-north';
const ID = '0123456789abcdef0123456789abcdef';

/** The written states: `north` 1, 2 and 3 were sent at 10, 20 and 30. */
function written() {
  const all = new Written(['north']);
  const { began, told } = all.groups.get('north');
  for (const number of [1, 2, 3]) {
    began.set(number, number * 10);
    told.set(number, number * 10 + 5);
  }
  return all;
}

const page = (began, numbers, more) => ({
  who: 'reader', edgeIndex: 0, kind: 'list', group: 'north', target: LIST, began, ended: began + 1, status: 200, cache: 'HIT', numbers,
  etag: `W/"${numbers[0]}"`, content: `content ${numbers[0]}`, ...more,
});
const meteredAnswer = (remaining, more) => ({ kind: 'metered', key: 1, limit: 3, who: 'glutton', edgeIndex: 0, target: '/v1/chains', began: 50, ended: 51, status: 200, reset: 60, remaining, ...more });
const revokedAnswer = (began, status) => ({ kind: 'revoked', key: 2, revoked: 40, who: 'revoked', edgeIndex: 0, target: '/v1/chains', began, ended: began + 1, status });
const hostile = (began, status) => ({ kind: 'hostile', who: 'stranger', edgeIndex: 0, target: 'GET /v1/vaults/%2e%2e', began, ended: began + 1, status });
const frame = (number, title) => ({ connection: 1, event: 'published', number, title });
const gap = (reason) => ({ connection: 1, event: 'gap', gap: { reason } });

/** A record without violations, with three faults and one restore; each test changes one thing. */
function record() {
  return {
    answers: [
      page(11, [1, 1]), page(21, [2, 2]), page(31, [3, 3]),
      // The restore from 35 to 45 undoes state 3.
      page(36, [3, 3]), page(37, [2, 2]), page(46, [2, 2]), page(55, [3, 3]),
      { who: 'reader', edgeIndex: 0, kind: 'events', target: '/v1/events', began: 31, ended: 32, status: 200, titles: ['north 3', 'north 2'] },
      { who: 'reader', edgeIndex: 0, kind: 'verify', target: '/v1/verify', began: 31, ended: 32, status: 200, isTrue: true },
      page(38, [2, 2], { status: 503, code: 'SERVICE_UNAVAILABLE', numbers: undefined, etag: null, content: undefined }),
      { who: 'reader', edgeIndex: 0, kind: 'chains', target: '/v1/chains', began: 23, ended: 24, status: 0 },
      meteredAnswer(2), meteredAnswer(1), meteredAnswer(0), meteredAnswer(0, { status: 429 }), meteredAnswer(2, { reset: 120, began: 61 }),
      revokedAnswer(39, 200), revokedAnswer(41, 401), revokedAnswer(42, 429),
    ],
    harm: [hostile(10, 400), hostile(23, 0), hostile(23, 502), hostile(51, 0)],
    faults: [{ what: 'the edge is killed', hit: 'edge', from: 22, to: 25 }, { what: 'a restore', from: 33, to: 48 }, { what: 'the disk is full', fills: true, from: 53, to: 54 }],
    restores: [{ from: 35, to: 45, until: 50, kept: new Map([['north', 2]]) }],
    clients: [{ name: 'client', vault: null, first: 0n, frames: [frame(1n, 'north 1'), gap('cursor_unknown'), frame(1n, 'north 1'), frame(9n, 'north 2')] }],
    kept: new Map([['north', new Set([0, 1, 2, 3])]]),
    endings: [{ name: 'postgres', how: 1, at: 53 }],
    written: written(),
  };
}

function broken({ answers, harm, faults, restores, clients, kept, endings, written: all }) {
  const violations = {
    torn: verdict.torn(answers),
    invented: verdict.invented(answers, all),
    inventedEvents: verdict.inventedEvents(answers, all),
    wentBack: verdict.wentBack(answers, restores),
    undone: verdict.undone(answers, restores),
    ambiguousTags: verdict.ambiguousTags(answers),
    undocumented: verdict.undocumented(answers),
    unprovoked: verdict.unprovoked(answers, faults),
    provoked: verdict.provoked(harm, faults),
    overLimit: verdict.overLimit(answers),
    admittedRevoked: verdict.admittedRevoked(answers),
    unproven: verdict.unproven(answers),
    untold: verdict.untold(clients, restores),
    givenTwice: verdict.givenTwice(clients),
    unexpectedEndings: verdict.unexpectedEndings(endings, faults),
    lostStates: verdict.lostStates(kept, all),
  };
  return Object.keys(violations).filter((guarantee) => violations[guarantee].length > 0);
}

const after = (change) => {
  const changed = record();
  change(changed);
  return broken(changed);
};

describe('the verdict on the whole stack', () => {
  test('finds no violation in a correct record', () => assert.deepEqual(broken(record()), []));

  test('finds a list with two states, and a state or an event that was never written', () => {
    assert.deepEqual(after(({ answers }) => (answers[1].numbers = [2, 1])), ['torn']);
    assert.deepEqual(after(({ answers }) => answers.push(page(56, [7, 7]))), ['invented']);
    assert.deepEqual(after(({ answers }) => answers.unshift(page(12, [2, 2]))), ['invented', 'wentBack'], 'before it was written');
    assert.deepEqual(after(({ answers }) => answers[7].titles.push('north 4')), ['inventedEvents']);
    assert.deepEqual(after(({ answers }) => answers[7].titles.push('a stranger')), ['inventedEvents']);
  });

  test('finds a state that went back at one edge, and allows a difference between the edges', () => {
    assert.deepEqual(after(({ answers }) => answers.splice(3, 0, page(32, [2, 2]))), ['wentBack']);
    assert.deepEqual(after(({ answers }) => answers.push(page(56, [2, 2]))), ['wentBack'], 'also after a restore');
    assert.deepEqual(after(({ answers }) => answers.push(page(56, [2, 2], { edgeIndex: 1 }))), []);
  });

  test('finds an undone state that is shown after the restore', () => {
    assert.deepEqual(after(({ answers }) => answers.splice(6, 0, page(47, [3, 3]))), ['undone']);
    assert.deepEqual(after(({ restores }) => restores.splice(0)), ['wentBack', 'untold'], 'without a restore no state may go back');
  });

  test('finds an ETag of two contents', () => {
    assert.deepEqual(after(({ answers }) => (answers[4].content = 'another')), ['ambiguousTags']);
    assert.deepEqual(after(({ answers }) => Object.assign(answers[4], { content: 'another', target: '/v1/vaults?page=2' })), []);
  });

  test('finds a failure that is reported wrongly, or that no fault explains', () => {
    assert.deepEqual(after(({ answers }) => (answers[9].envelope = 'has no error envelope')), ['undocumented']);
    assert.deepEqual(after(({ answers }) => (answers[9].code = 'INTERNAL')), ['undocumented']);
    assert.deepEqual(after(({ answers }) => Object.assign(answers[9], { status: 500, code: 'INTERNAL' })), ['undocumented']);
    assert.deepEqual(after(({ answers }) => Object.assign(answers[0], { status: 404, code: 'NOT_FOUND' })), ['undocumented']);
    assert.deepEqual(after(({ answers }) => Object.assign(answers[9], { began: 51, ended: 52 })), ['unprovoked']);
    assert.deepEqual(after(({ answers }) => Object.assign(answers[10], { began: 38, ended: 39 })), ['unprovoked'], 'only the edge can break a connection');
  });

  test('finds a server error that a stranger caused', () => {
    assert.deepEqual(after(({ harm }) => harm.push(hostile(51, 500))), ['provoked']);
  });

  test('finds one request too many, and a remaining count that was given twice', () => {
    assert.deepEqual(after(({ answers }) => answers.push(meteredAnswer(-1))), ['overLimit']);
    assert.deepEqual(after(({ answers }) => (answers[12].remaining = 2)), ['overLimit']);
    assert.deepEqual(after(({ answers }) => answers.push(meteredAnswer(1, { reset: 120 }))), []);
    const crowded = (remainders) => ({ answers }) => answers.push(...remainders.map((remaining) => meteredAnswer(remaining, { kind: 'crowded', key: 3 })));
    assert.deepEqual(after(crowded([2, 1, 1])), [], 'isolates count independently');
    assert.deepEqual(after(crowded([2, 1, 1, 0])), ['overLimit']);
  });

  test('finds a key that is accepted after its revocation, and a proof that fails', () => {
    assert.deepEqual(after(({ answers }) => (answers.at(-2).status = 200)), ['admittedRevoked']);
    assert.deepEqual(after(({ answers }) => (answers[8].isTrue = false)), ['unproven']);
  });

  test('finds a client that got no gap after a restore, or one without a restore', () => {
    assert.deepEqual(after(({ clients }) => clients[0].frames.splice(1, 1)), ['untold']);
    assert.deepEqual(after(({ clients }) => clients[0].frames.push(gap('cursor_unknown'))), ['untold']);
    assert.deepEqual(after(({ clients }) => clients[0].frames.push(gap('queue_overflow'))), []);
    assert.deepEqual(verdict.lives(record().clients[0]).map(({ frames }) => frames.length), [1, 2]);
  });

  test('finds a client that got only one gap after two restores', () => {
    assert.deepEqual(after(({ restores }) => restores.push({ from: 60, to: 61, until: 62, kept: new Map([['north', 3]]) })), ['untold']);
  });

  test('finds a sequence number of two operations in two histories, at one or two clients', () => {
    assert.deepEqual(after(({ clients }) => clients[0].frames.push(frame(9n, 'north 3'))), ['givenTwice']);
    assert.deepEqual(after(({ clients }) => clients.push({ ...clients[0], frames: [gap('cursor_unknown'), frame(9n, 'north 3')] })), ['givenTwice']);
    assert.deepEqual(after(({ clients }) => clients.push({ ...clients[0], frames: [gap('cursor_unknown'), frame(9n, 'north 2')] })), []);
  });

  test('finds a process that ended by itself', () => {
    assert.deepEqual(after(({ endings }) => (endings[0].at = 60)), ['unexpectedEndings']);
    assert.deepEqual(after(({ endings }) => (endings[0].name = 'edge')), ['unexpectedEndings']);
  });

  test('finds a state that is missing from the history', () => assert.deepEqual(after(({ kept }) => kept.get('north').delete(2)), ['lostStates']));
});

describe('the record', () => {
  const answer = (status, json, headers = {}) => ({ status, json, text: JSON.stringify(json), headers: new Headers(headers) });
  const noted = (...what) => new Answers().note({}, 0, answer(...what));

  test('distinguishes contents, but ignores their freshness', () => {
    const rows = (fresh, tvl) => noted(200, { data: [{ tvl_usd: tvl, freshness_seconds: fresh }] }).content;
    assert.equal(rows(1, 5), rows(2, 5));
    assert.notEqual(rows(1, 5), rows(1, 6));
  });

  test('recognises a correct error envelope, and what is wrong with others', () => {
    const error = { error: { code: 'SERVICE_UNAVAILABLE', message: 'later', request_id: ID } };
    const head = { 'x-request-id': ID, 'cache-control': 'no-store', 'retry-after': '2' };
    const faulty = (json, change) => noted(503, json, { ...head, ...change }).envelope;
    assert.equal(faulty(error), undefined);
    assert.equal(noted(503, undefined, head).envelope, 'has no error envelope');
    assert.match(faulty(error, { 'x-request-id': ID.replace('0', '1') }), /request id/);
    assert.match(faulty(error, { 'cache-control': 'public' }), /cached/);
    assert.match(faulty(error, { 'retry-after': 'soon' }), /Retry-After/);
  });
});
