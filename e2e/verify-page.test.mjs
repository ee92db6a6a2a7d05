// The page that verifies decisions, in Chromium: a real decision, changes of its members, and verification without a network.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { chromium } from 'playwright-core';
import { mint } from './operator.mjs';
import { newCaller, sharedStack, until } from './stack.mjs';

const stack = sharedStack();
const PAGE = '/v1/docs/verify';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** The steps that prove a decision by its id. */
const PROOF_STEPS = ['envelope', 'id', 'signature', 'signer', 'known', 'active'];

let browser;
let context;
let page;
/** The API paths that the page requested, and its errors and unwanted requests. */
let requested;
let faults;
let request;
let answer;
let registry;

before(async () => {
  const executablePath = process.env.RDS_CHROMIUM;
  assert.ok(executablePath, 'RDS_CHROMIUM is not set: install Chromium (Debian: `apt-get install chromium`) and set it to the path of the program');
  const libraries = process.env.RDS_CHROMIUM_LIBS;
  browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    env: libraries ? { ...process.env, LD_LIBRARY_PATH: libraries } : process.env,
  });
  const holder = await mint(stack, { plan: 'decisioning' });
  const [one, other] = await stack.vaults();
  request = JSON.stringify({
    portfolioRef: 'Bücher "1" €',
    positions: [one, other].map((vault, place) => ({ vaultKey: `${vault.chain_id}:${vault.address}`, amountUsd: 123456.789 + place })),
    limits: { maxSharePerChain: 0.5, maxSharePerCurator: 0.9 },
    issue: true,
  });
  answer = await until('the exposure graph is built', 60, async () => {
    const checked = await stack.post('/v1/graph/check', request, holder.headers);
    return checked.status === 200 && checked.json;
  });
  assert.ok(answer.data.findings.length > 0, 'all positions are on one chain, which violates maxSharePerChain');
  registry = (await stack.ok('/v1/graph/signers')).text;
}, { timeout: 120_000 });
after(() => browser?.close());

beforeEach(async () => {
  [requested, faults] = [[], []];
  context = await browser.newContext({ extraHTTPHeaders: { 'cf-connecting-ip': newCaller() } });
  page = await context.newPage();
  page.on('request', (sent) => {
    const url = new URL(sent.url());
    if (url.origin !== new URL(stack.edge).origin) faults.push(`request to ${url}`);
    if (!url.pathname.startsWith('/v1/docs')) requested.push(url.pathname);
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  page.on('console', (message) => {
    // Chromium logs every error response; whether one is expected is checked by the tests.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) faults.push(message.text());
  });
  await page.goto(new URL(PAGE, stack.edge).href, { waitUntil: 'networkidle' });
});
afterEach(async () => {
  await context.close();
  assert.deepEqual(faults, []);
});

const decision = () => answer.data.decision;
const copy = () => structuredClone(answer);
const path = {
  decision: () => `/v1/graph/decision/${decision().decisionId}`,
  signers: '/v1/graph/signers',
  snapshot: () => `/v1/graph/snapshot/${answer.data.snapshotId}`,
};

/** Verifies the pasted text; resolves to the outcome that the page shows, and to the outcome of each step. */
async function verify(pasted, { offline = false, ...more } = {}) {
  await page.fill('#decision', typeof pasted === 'string' ? pasted : JSON.stringify(pasted));
  if (Object.keys(more).length > 0) await page.evaluate(() => (document.querySelector('#verify details').open = true));
  for (const [name, value] of Object.entries(more)) await page.fill(`#${name}`, value);
  if (offline) {
    await page.check('input[value="pasted"]');
    await page.fill('#signers', registry);
  }
  await page.click('#run');
  const headline = page.locator('#outcome:not([data-outcome="working"]) strong');
  await headline.waitFor();
  const steps = await page.locator('#steps > li').evaluateAll((rows) => rows.map(({ dataset }) => [dataset.step, dataset.outcome]));
  const text = await page.locator('#outcome').innerText();
  return { outcome: await page.getAttribute('#outcome', 'data-outcome'), headline: await headline.innerText(), text, steps: Object.fromEntries(steps) };
}
const named = ({ steps }, outcome) => Object.keys(steps).filter((name) => steps[name] === outcome);

/** Another value of the same type and form. */
const other = (value) => {
  if (typeof value === 'number') return value === 0 ? 1 : value + 1;
  if (typeof value === 'boolean') return !value;
  if (Array.isArray(value)) return value.length > 0 ? [] : ['1:0x00000000000000000000000000000000000000ff'];
  if (typeof value === 'object') return { maxSharePerAsset: 1 };
  if (['approve', 'caution', 'reject'].includes(value)) return value === 'approve' ? 'reject' : 'approve';
  if (/Z$/.test(value)) return value.replace(/^\d{4}/, (year) => String(Number(year) - 1));
  return value.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
};

describe('a decision of the service', () => {
  test('is proved by its id, from the stored decision, the signers and the snapshot alone', async () => {
    const result = await verify(decision().decisionId);
    assert.deepEqual([result.outcome, result.headline], ['genuine', 'Genuine'], result.text);
    assert.deepEqual(named(result, 'ok').sort(), [...PROOF_STEPS, 'beside', 'snapshot'].sort());
    assert.deepEqual(named(result, 'unchecked'), ['positions', 'findings']);
    assert.deepEqual(requested.sort(), [path.decision(), path.signers, path.snapshot()].sort(), 'the page does not ask the service for a verification');
    const shown = await page.locator('#sealed').innerText();
    for (const value of [decision().decisionId, 'Bücher "1" €', decision().signerAddress]) assert.ok(shown.includes(value), shown);
    assert.match(result.text, /registry of signers was read from this service/, 'the outcome names what is trusted without proof');
  });

  test('is proved by the response and request of its check, which are not sent', async () => {
    const result = await verify(answer, { request });
    assert.equal(result.outcome, 'genuine', result.text);
    assert.deepEqual(named(result, 'unchecked'), ['snapshot']);
    assert.deepEqual(requested, [path.signers]);
  });

  test('is proved without a network', async () => {
    const snapshot = (await stack.ok(path.snapshot())).text;
    await context.setOffline(true);
    const result = await verify(answer, { offline: true, request, snapshot });
    assert.equal(result.outcome, 'genuine', result.text);
    assert.deepEqual(named(result, 'unchecked'), []);
    assert.deepEqual(requested, []);
    assert.doesNotMatch(result.text, /read from this service/);
  });

  test('is proved by a bare envelope with its signature', async () => {
    const { envelope, signature } = decision();
    const result = await verify(envelope, { offline: true, signature });
    assert.deepEqual([result.outcome, named(result, 'unchecked')[0]], ['genuine', 'id'], result.text);
  });
});

describe('a change', () => {
  test('of any member of the envelope fails, visibly, with and without the id', async () => {
    const members = JSON.parse(decision().envelope);
    assert.equal(Object.keys(members).length, 12);
    for (const [name, value] of Object.entries(members)) {
      const envelope = JSON.stringify({ ...members, [name]: other(value) });
      assert.notEqual(envelope, decision().envelope);
      const tampered = { ...decision(), envelope };
      const result = await verify({ decision: tampered }, { offline: true });
      assert.deepEqual([result.outcome, result.headline], ['refuted', 'Not genuine'], name);
      assert.equal(result.steps.id, 'failed', name);
      assert.equal(await page.locator('[data-step="id"] .word').innerText(), 'Fails');
      assert.ok(!(await page.locator('#sealed').innerText()).trim(), 'the page shows no part of the refuted decision as proved');
      delete tampered.decisionId;
      const nameless = named(await verify({ decision: tampered }), 'failed');
      assert.ok(nameless.includes('signer') || nameless.includes('envelope'), `${name}: ${nameless}`);
    }
  });

  test('of a field outside the envelope fails at the step of that field', async () => {
    for (const [change, step] of [
      [({ data }) => (data.verdict = other(data.verdict)), 'beside'],
      [({ data }) => (data.snapshotId = other(data.snapshotId)), 'beside'],
      [({ data }) => (data.decision.signerAddress = other(data.decision.signerAddress)), 'beside'],
      [({ data }) => (data.decision.keyId = other(data.decision.keyId)), 'beside'],
      [({ data }) => (data.decision.decisionId = other(data.decision.decisionId)), 'id'],
      [({ data }) => (data.decision.signature = data.decision.signature.replace(/^(0x.{10})./, (_, front) => `${front}${'0'}`).replace(/..$/, '00')), 'signature'],
      [({ data }) => (data.unresolvedVaults = other(data.unresolvedVaults)), 'findings'],
      ...Object.keys(answer.data.findings[0]).map((name) => [
        ({ data }) => (data.findings[0][name] = other(data.findings[0][name])), 'findings',
      ]),
    ]) {
      const changed = copy();
      change(changed);
      const result = await verify(changed, { offline: true });
      assert.equal(result.outcome, 'refuted', String(change));
      assert.equal(result.steps[step], 'failed', `${change}: ${JSON.stringify(result.steps)}`);
    }
  });

  test('of the request fails at its positions or its terms', async () => {
    const [positions, terms] = [request.replace('123456.789', '123456.788'), request.replace('0.5', '0.6')];
    assert.equal((await verify(answer, { offline: true, request: positions })).steps.positions, 'failed');
    assert.equal((await verify(answer, { offline: true, request: terms })).steps.terms, 'failed');
  });

  test('is detected even if the service serves it', async () => {
    const { envelope, signature, decisionId } = decision();
    const forged = { decisionId, signature, envelope: envelope.replace(/"verdict":"\w+"/, '"verdict":"approve"') };
    await page.route(`**${path.decision()}`, (route) => route.fulfill({ json: { data: forged } }));
    const result = await verify(decisionId);
    assert.deepEqual([result.outcome, result.steps.id, result.steps.signer], ['refuted', 'failed', 'failed'], result.text);
  });
});

describe('an unverifiable input', () => {
  test('gets a message, and nothing is shown as proved', async () => {
    for (const [pasted, words] of [
      ['hello', /not JSON/],
      ['{}', /no decision/],
      [{ data: { ...answer.data, decision: null } }, /without a signed decision/],
      ['0'.repeat(64), /no decision under this id/],
    ]) {
      const result = await verify(pasted);
      assert.equal(result.outcome, 'fault', result.text);
      assert.match(result.text, words);
      assert.equal(await page.locator('#result').isVisible(), false);
    }
  });

  test('without a registry is not called genuine', async () => {
    await page.check('input[value="pasted"]');
    const result = await verify(answer);
    assert.deepEqual([result.outcome, result.headline], ['unproven', 'Not proved'], result.text);
    assert.equal(result.steps.known, 'unchecked');
  });

  test('without a network gets a message that says how to continue', async () => {
    await context.setOffline(true);
    const result = await verify(answer);
    assert.equal(result.outcome, 'fault');
    assert.match(result.text, /Paste the registry/);
  });
});

describe('the page', () => {
  test('can be used with the keyboard alone, and announces its outcome to screen readers', async () => {
    await page.focus('#decision');
    await page.keyboard.insertText(decision().decisionId);
    for (let presses = 0; (await page.evaluate(() => document.activeElement.id)) !== 'run'; presses += 1) {
      assert.ok(presses < 10, 'the button is reached with ten presses of Tab');
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.locator('[role="status"][aria-live="polite"]', { hasText: 'Genuine' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await page.inputValue('#decision'), '');
    assert.equal(await page.locator('#result').isVisible(), false);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'decision');
  });

  test('has no accessibility violations, also with a result', async () => {
    await verify(answer, { request });
    const levels = await page.locator('main :is(h1, h2, h3, h4)').evaluateAll((all) => all.filter((one) => one.offsetParent).map((one) => Number(one.tagName[1])));
    levels.reduce((last, level) => (assert.ok(level <= last + 1, levels.join()), level), 0);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    assert.deepEqual(violations.map(({ id, nodes }) => `${id} ${nodes[0].html.slice(0, 160)}`), []);
  });

  test('takes an id from the fragment of its URL, which is not sent', async () => {
    await page.goto(`${new URL(PAGE, stack.edge).href}?fresh#${decision().decisionId}`, { waitUntil: 'networkidle' });
    assert.equal(await page.inputValue('#decision'), decision().decisionId);
    assert.deepEqual(requested, []);
  });

  test('fits a phone screen, with and without a result', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(await overflow(), 0);
    await verify(answer, { request });
    assert.equal(await overflow(), 0);
  });

  test('can be read without a script', async () => {
    const plain = await browser.newContext({ javaScriptEnabled: false });
    const bare = await plain.newPage();
    await bare.goto(new URL(PAGE, stack.edge).href);
    assert.match(await bare.locator('main').innerText(), /personal_sign[\s\S]*What the steps of a decision ask/);
    assert.equal(await bare.locator('#verify').isVisible(), false);
    await plain.close();
  });

  test('may compile WebAssembly, unlike other pages, and its module has type and ETag', async () => {
    const policy = async (at) => (await stack.ok(at)).headers.get('content-security-policy');
    assert.match(await policy(PAGE), /^default-src 'none'; script-src 'self' 'wasm-unsafe-eval';/);
    assert.doesNotMatch(await policy('/v1/docs'), /eval/);
    const module = await stack.ok('/v1/docs/rds_verifier_bg.wasm');
    assert.deepEqual([module.headers.get('content-type'), module.headers.get('x-content-type-options')], ['application/wasm', 'nosniff']);
    const etag = module.headers.get('etag');
    assert.equal((await stack.get('/v1/docs/rds_verifier_bg.wasm', { headers: { 'if-none-match': etag } })).status, 304);
  });
});
