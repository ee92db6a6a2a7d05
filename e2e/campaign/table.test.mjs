// The table of fault cases in FAULTS.md is complete, and the tests and faults that it names exist.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repository } from '../private-stack.mjs';

const read = (...path) => readFileSync(join(repository, ...path), 'utf8');
const table = (letters) => {
  const lines = read('e2e', 'FAULTS.md').split('\n').filter((line) => new RegExp(`^\\| [${letters}]\\d`).test(line));
  return lines.map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()));
};
const [rows, wholeStack] = [table('FSW'), table('X')];
const sources = { it: (file) => read('origin', 'tests', 'it', `${file}.rs`), 'origin::http::transport': (file) => read('origin', 'src', 'http', 'transport', `${file}.rs`) };

test('all fifty-three cases of push are in the table, each with a test or the reason why there is none', () => {
  const all = [['F', 16], ['S', 18], ['W', 19]].flatMap(([letter, count]) => Array.from({ length: count }, (_, place) => `${letter}${place + 1}`));
  assert.deepEqual(rows.map(([number]) => number), all);
  for (const [number, , tests, reason] of rows) assert.ok(tests !== 'none' || reason !== '', number);
});

test('every test named in the table exists', () => {
  let named = 0;
  for (const [number, , tests] of [...rows, ...wholeStack]) {
    for (const [, folder, modules, name] of tests.matchAll(/`(it|origin::http::transport)::(\w+(?:::\w+)*)::(\w+)\*?`/g)) {
      assert.match(sources[folder](modules.replaceAll('::', '/')), new RegExp(`fn ${name}`), `${number}: ${modules}::${name}`);
      named += 1;
    }
  }
  assert.ok(named > 40, `${named}`);
});

/** A campaign's code. */
const codeOf = (folder) => readdirSync(join(repository, 'e2e', folder)).filter((file) => !file.includes('.test.')).map((file) => read('e2e', folder, file)).join('\n');

test('every campaign action named in the table exists', () => {
  const folders = { campaign: codeOf('campaign'), 'stack campaign': codeOf('stack-campaign') };
  for (const [number, , tests] of rows) {
    for (const [, which, said] of tests.matchAll(/((?:stack )?campaign) \(((?:`[^`]+`(?:, )?)+)/g)) {
      for (const [, words] of said.matchAll(/`([^`]+)`/g)) assert.ok(folders[which].includes(words), `${number}: ${words}`);
    }
  }
});

test('every fault of the whole stack is in the table, and the table names no other', () => {
  const named = wholeStack.flatMap(([, , broken]) => [...broken.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).filter((name) => !name.includes('::'));
  const faults = [...codeOf('stack-campaign').matchAll(/^ {4}(?:'([^']+)'|"([^"]+)"): \{/gm)].map(([, one, other]) => one ?? other);
  assert.ok(faults.length > 10, `${faults}`);
  assert.deepEqual(named.toSorted(), faults.toSorted());
});
