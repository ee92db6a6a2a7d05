// Small parts of the source: CSV of positions, links to other sites, numbers and instants as text, patterns of addresses.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bundled } from './built.mjs';

const { read, amountOf, keyOfVault, MOST_POSITIONS, outside, match, find, target, Api, ApiFailure, plain, inputsOf, ...format } = await bundled(`
  export * from './src/book/csv.js';
  export * from './src/links.js';
  export * from './src/format.js';
  export { find, match } from './src/page.js';
  export { Api, ApiFailure, target } from './src/api.js';
  export { inputsOf, plain } from './src/ui/inputs.js';
`);
const [A, B] = ['0x00000000000000000000000000000000000000aa', '0x00000000000000000000000000000000000000bb'];
const SOLANA = 'So11111111111111111111111111111111111111112';
const positions = (text) => {
  const { positions: found, problems } = read(text);
  assert.deepEqual(problems, [], text);
  return found.map(({ vaultKey, amountUsd }) => [vaultKey, amountUsd]);
};
const problem = (text) => {
  const { problems } = read(text);
  assert.equal(problems.length, 1, JSON.stringify(problems));
  return problems[0];
};

test('positions are read with any separator, with and without a first line', () => {
  const expected = [
    [`1:${A}`, 1500000],
    [`1:${B}`, 2.5],
  ];
  for (const sign of [',', ';', '\t', ', ']) {
    assert.deepEqual(positions(`1:${A}${sign}1500000\n1:${B}${sign}2.5`), expected);
    assert.deepEqual(positions(`vault${sign}amount\r\n1:${A}${sign}1500000\r\n\r\n1:${B}${sign}2.5\r\n`), expected);
  }
});

test('a vault is named by key, by id, or by chain and address in columns', () => {
  for (const line of [`1:${A.toUpperCase().replace('0X', '0x')},5`, `some-proto-1-${A},5`, `1,${A},5`, `${A},1,5.5`, `5.5,1,${A}`]) {
    assert.equal(positions(line)[0][0], `1:${A}`, line);
  }
  assert.equal(keyOfVault(`7:${SOLANA}`), `7:${SOLANA}`);
  assert.equal(keyOfVault('1:0x12'), null);
  assert.equal(keyOfVault('vault'), null);
});

test('named columns say which number is what', () => {
  assert.deepEqual(positions(`address,amount,chain\n${A},10,1`), [[`1:${A}`, 10]]);
  assert.deepEqual(positions(`vault,shares,value_usd\n1:${A},77,10`), [[`1:${A}`, 10]]);
  assert.deepEqual(positions(`year,vault,amount\n2026,1:${A},10`), [[`1:${A}`, 10]]);
});

test('what could be read in two ways is a problem, never a guess', () => {
  assert.match(problem(`1:${A},1,000,000`).why, /several numbers/);
  assert.match(problem(`vault,amount\n1:${A},1,000`).why, /more cells than the first line/);
  assert.match(problem(`${A},10,1`).why, /the chain cannot be told/);
  assert.match(problem(`${A},10`).why, /no vault/);
});

test('positions in one vault are added up, whatever the case of its address', () => {
  assert.deepEqual(positions(`1:${A},10\n1:${A.replace('aa', 'AA')},5`), [[`1:${A}`, 15]]);
});

test('quotes hold separators and doubled quotes, also beside signs outside the basic plane', () => {
  assert.deepEqual(positions(`name,vault,amount\n"a, ""b"" 😀",1:${A},"1,000,000.50"`), [[`1:${A}`, 1000000.5]]);
  assert.deepEqual(positions(`"😀😀""",1:${A},"2,000"`), [[`1:${A}`, 2000]]);
  assert.deepEqual(positions(`\ufeffvault,amount\n"1:${A}","5"`), [[`1:${A}`, 5]]);
});

test('the separator is that of the first line, not one in a name', () => {
  assert.deepEqual(positions(`vault,amount,name\n1:${A},5,a;b`), [[`1:${A}`, 5]]);
});

test('lines that are no positions are named with their number', () => {
  const { problems } = read(`vault,amount\nnot a vault,5\n1:${A},none\n1:${A},0\n1:${A},-5\n`);
  assert.deepEqual(
    problems.map(({ line }) => line),
    [2, 3, 4, 5],
  );
  assert.equal(problem('hello 5,5').line, 1);
});

test('more vaults than a check takes are a problem', () => {
  const lines = Array.from({ length: MOST_POSITIONS + 1 }, (_, n) => `1:0x${n.toString(16).padStart(40, '0')},1`);
  assert.match(problem(lines.join('\n')).why, /at most 200 vaults; these are 201/);
  assert.deepEqual(read('').positions, []);
});

test('amounts as people write them', () => {
  for (const [text, value] of [
    ['1,000,000.50', 1000000.5],
    ['$1000', 1000],
    ['1 000', 1000],
    ["1'000", 1000],
    ['1_000', 1000],
    ['0.01', 0.01],
    ['12', 12],
  ]) {
    assert.equal(amountOf(text), value, text);
  }
  for (const text of ['', '0', '-1', '1,00', '1,0000', '1.2.3', '1e9', 'NaN', 'Infinity', '0x10', '1.000.000,50', '9'.repeat(400)])
    assert.equal(amountOf(text), null, text);
});

test('only addresses of the web are links', () => {
  assert.equal(outside('https://a.example/b?c=d'), 'https://a.example/b?c=d');
  assert.equal(outside('http://a.example'), 'http://a.example/');
  for (const url of [
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    '//a.example',
    '/v1',
    'a.example',
    '',
    null,
    undefined,
  ]) {
    assert.equal(outside(url), null, String(url));
  }
});

test('numbers, shares and instants as text', () => {
  const { usd, exactUsd, count, counted, percent, instant, duration, age, shortened, words } = format;
  assert.deepEqual([0, 1, 1234, 1.5e6, 2.345e9, -1e6].map(usd), ['$0', '$1', '$1.23K', '$1.5M', '$2.35B', '−$1M']);
  assert.equal(exactUsd(-1234567.891), '−$1,234,567.89');
  assert.deepEqual(
    [count(1234567), counted(1, 'vault'), counted(0, 'vault'), counted(2000, 'index', 'indices')],
    ['1,234,567', '1 vault', '0 vaults', '2,000 indices'],
  );
  assert.deepEqual([0, 0.0004, 0.05, 0.123, 1, -0.02].map(percent), ['0.00%', '0.040%', '5.00%', '12.3%', '100.0%', '−2.00%']);
  assert.equal(instant('2026-11-26T01:02:03.004Z'), '2026-11-26 01:02 UTC');
  assert.equal(instant('2026-11-26'), '2026-11-26');
  assert.deepEqual([0, 1, 59, 60, 3599, 86400, 86400 * 730, -5].map(duration), [
    '0 seconds',
    '1 second',
    '59 seconds',
    '1 minute',
    '59 minutes',
    '1 day',
    '2 years',
    '0 seconds',
  ]);
  const now = '2026-11-26T00:00:00.000Z';
  assert.equal(age('2026-11-25T21:00:00.000Z', now), '3 hours ago');
  assert.equal(age('2026-11-25T23:59:30.000Z', now), 'now');
  assert.equal(age('2026-11-29T00:00:00.000Z', now), 'in 3 days');
  assert.equal(age('no instant', now), '');
  assert.equal(shortened('0x661b4283de3f1f23362c5ef9a6fa6982a71ff5ee'), '0x661b…f5ee');
  assert.equal(shortened('😀'.repeat(20)), `${'😀'.repeat(6)}…${'😀'.repeat(4)}`);
  assert.deepEqual(['deposit_status', 'PegDeviation', 'noIL', 'a-b', ''].map(words), ['Deposit status', 'Peg deviation', 'No IL', 'A b', '']);
});

test('patterns of addresses', () => {
  assert.deepEqual(match('/vaults/:id', '/vaults/a%2Fb'), { id: 'a/b' });
  assert.deepEqual(match('/assets/:chain/:address', '/assets/1/0xab'), { chain: '1', address: '0xab' });
  for (const path of ['/vaults', '/vaults/', '/vaults/a/b', '/Vaults/a', '/vaults/%ff', 'vaults/a'])
    assert.equal(match('/vaults/:id', path), null, path);
  const pages = [{ path: '/a' }, { path: '/a/:b' }];
  assert.deepEqual(find(pages, '/a/c'), { entry: pages[1], params: { b: 'c' } });
  assert.equal(find(pages, '/b'), null);
});

test('queries leave out what is not set, and join lists', () => {
  assert.equal(target('/v1/x', { a: null, b: undefined, c: '', d: 0, e: false, f: ['1', '2'], g: 'ä&b' }), '/v1/x?d=0&e=false&f=1%2C2&g=%C3%A4%26b');
  assert.equal(target('/v1/x', {}), '/v1/x');
});

test('a failure says what happened and when to try again', async () => {
  const failureOf = async (answer) => (await new Api(async () => answer()).get('/v1/x').catch((error) => error)).failure;
  const refused = await failureOf(() =>
    Response.json({ error: { code: 'RATE_LIMITED', message: 'Slow down.', request_id: 'q' } }, { status: 429, headers: { 'retry-after': '30' } }),
  );
  assert.deepEqual(refused, { status: 429, code: 'RATE_LIMITED', message: 'Slow down.', requestId: 'q', retryAfter: 30 });
  const odd = await failureOf(
    () => new Response('{"error":{"code":5,"message":{}}}', { status: 500, headers: { 'retry-after': 'soon', 'x-request-id': 'h' } }),
  );
  assert.deepEqual(odd, {
    status: 500,
    code: 'UNEXPECTED_ANSWER',
    message: 'The service answered with status 500.',
    requestId: 'h',
    retryAfter: null,
  });
  assert.equal((await failureOf(() => Promise.reject(new Error('x')))).status, 0);
  assert.equal((await failureOf(() => new Response('null'))).status, 502);
  await assert.rejects(new Api(() => Promise.reject(new Error('x'))).get('/'), (error) => error instanceof ApiFailure);
});

test('inputs of any shape are told as text', () => {
  assert.equal(plain(null), null);
  assert.deepEqual([true, 1234, 0.5, 'push_feed', 'Prime', [], ['a_b', null]].map(plain), [
    'yes',
    '1,234',
    '0.5',
    'Push feed',
    'Prime',
    'none',
    'A b, unknown',
  ]);
  assert.equal(plain({ set_size: 3, of: null }), 'Set size 3, Of unknown');
  const inputs = inputsOf({
    asset: { mode: 'x', score: { value: 1, source: 's' } },
    caps: null,
    flags: ['a'],
    platform: { audits: { value: null, observed_at: null } },
  });
  assert.deepEqual(
    inputs.map(({ vector, name }) => `${vector}.${name}`),
    ['asset.score', 'platform.audits'],
  );
});
