// A state counts as written when the edge has acknowledged it, and pages are compared up to the first restore.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Written } from './record.mjs';
import { ofStates } from './registers.mjs';

const tags = (vaults, known) => [{ tag: 'vaults', version: String(vaults), known: String(known) }, { tag: 'feeds', version: '10000000000000001', known: '10000000000000001' }];
const answer = (more) => ({ who: 'reader', edgeIndex: 1, group: 'north', target: '/v1/vaults', began: 5, ended: 6, status: 200, cache: 'HIT', numbers: [0, 0], ...more });

describe('what the edge has acknowledged', () => {
  test('a state is acknowledged when the edge knows the versions that were committed with it', () => {
    const written = new Written(['north']);
    const { acknowledged } = written.groups.get('north');
    const wrote = (number) => {
      written.begin('north', number);
      written.tell('north', number);
    };
    wrote(1);
    written.look(0, tags(7, 7)); // This look began before the state was committed.
    assert.deepEqual([...acknowledged.keys()], [0]);
    written.look(performance.now(), tags(7, 6));
    wrote(2);
    written.look(performance.now(), tags(9, 7));
    assert.deepEqual([...acknowledged.keys()], [0, 1]);
    written.look(performance.now(), tags(12, 8));
    assert.deepEqual([...acknowledged.keys()], [0, 1]);
    written.look(performance.now(), tags(12, 9));
    assert.deepEqual([...acknowledged.keys()], [0, 1, 2]);
  });
});

describe('what each edge showed, as registers', () => {
  test('a page of an edge is an object, and a state that is not acknowledged has no end', () => {
    const written = new Written(['north']);
    const group = written.groups.get('north');
    group.began.set(1, 3).set(2, 8);
    group.told.set(1, 4);
    group.acknowledged.set(1, 7);
    const object = '/v1/vaults at edge 1';
    assert.deepEqual(ofStates([answer()], written, []), [
      { object, as: 'register', who: 'the writer', write: 0, began: 0, ended: 0 },
      { object, as: 'register', who: 'the writer', write: 1, began: 3, ended: 7 },
      { object, as: 'register', who: 'the writer', write: 2, began: 8, ended: null },
      { object, as: 'register', who: 'reader', read: 0, began: 5, ended: 6 },
    ]);
  });

  test('stale answers, answers without rows and answers after a restore began are left out', () => {
    const others = [answer({ cache: 'STALE-ERROR' }), answer({ status: 304, numbers: undefined }), answer({ ended: 21 })];
    const reads = ofStates([answer(), ...others], new Written(['north']), [{ from: 20 }]).filter(({ read }) => read !== undefined);
    assert.equal(reads.length, 1);
  });
});
