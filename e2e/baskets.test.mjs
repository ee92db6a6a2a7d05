// Baskets through the edge: their shapes, content hashes that anyone can recompute, and a retired version that answers 410 immediately.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { verifyMessage as ethersRecover } from 'ethers';
import { verifyMessage } from 'viem';
import * as fields from './basket-fields.mjs';
import { expectError, expectShape } from './expect.mjs';
import { data, paged } from './interface-fields.mjs';
import { failing, verb } from './operator.mjs';
import { OwnBasket, recomputed } from './own-basket.mjs';
import { originEnvironment } from './private-stack.mjs';
import { pythonSkipReason, python } from './python.mjs';
import { listOf } from './shape.mjs';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
let basket;
let first;
let second;
const at = (rest) => basket.path(rest);

const PYTHON = `
import hashlib, json, sys
v = json.load(sys.stdin)
keys = ("id", "issuer", "score_mp", "weight_ppm")
content = {
    "basket_id": v["id"],
    "constituents": sorted(({k: c[k] for k in keys} for c in v["constituents"]), key=lambda c: c["id"]),
    **{k: v[k] for k in ("effective_from", "methodology_version", "prior_version_id")},
}
text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
print(hashlib.sha256(text.encode()).hexdigest())
`;

before(async () => {
  basket = await OwnBasket.create(stack);
  first = basket.version(1);
  second = await basket.rebalance();
});

describe('a basket', () => {
  test('has the fields of the interface on every route', async () => {
    expectShape(await stack.get('/v1/baskets'), data(listOf(fields.BasketRow)));
    expectShape(await stack.get(at('')), data(fields.BasketDetail));
    expectShape(await stack.get(at(`/version/${first}`)), data(fields.BasketDetail));
    expectShape(await stack.get(at('/versions')), paged(fields.BasketVersionRow));
    expectShape(await stack.get(at('/changes')), data(listOf(fields.BasketChangeRow)));
    expectShape(await stack.get(at('/methodology/versions')), data(listOf(fields.BasketMethodologyRow)));
  });

  test('of the demo has weights that sum to one, within its caps', async () => {
    const { json } = await stack.ok('/v1/baskets');
    for (const name of ['prime-vaults', 'stable-vaults', 'treasury-assets']) {
      assert.ok(json.data.some(({ id }) => id === name), name);
    }
    for (const { id } of json.data) {
      const { data: version } = (await stack.ok(`/v1/baskets/${id}`)).json;
      const { single_name_pct: cap, floor_pct: floor, issuer_pct } = version.methodology.caps;
      const issuers = new Map();
      for (const { issuer, weight_ppm } of version.constituents) {
        assert.ok(weight_ppm <= cap * 1e4 && weight_ppm >= floor * 1e4, `${id} ${weight_ppm}`);
        issuers.set(issuer, (issuers.get(issuer) ?? 0) + weight_ppm);
      }
      assert.equal([...issuers.values()].reduce((sum, weight) => sum + weight, 0), 1_000_000, id);
      assert.ok(Math.max(...issuers.values()) <= issuer_pct * 1e4, id);
    }
  });

  test('of the demo has a history in which a constituent that hard-failed was removed and its weight redistributed', async () => {
    const rows = (await stack.ok('/v1/baskets/stable-vaults/changes')).json.data;
    assert.ok(rows.length >= 3, `${rows.length} versions`);
    const failed = rows.find(({ trigger_reason }) => trigger_reason === 'hard_fail');
    assert.deepEqual([failed.added.length, failed.removed.length], [0, 1]);
    assert.ok(failed.weight_changed.every(({ weight, previous_weight }) => weight !== previous_weight) && failed.weight_changed.length > 5);
    const { id } = failed.removed[0];
    const held = async (version) => (await stack.ok(`/v1/baskets/stable-vaults/version/${version}`)).json.data.constituents.some((it) => it.id === id);
    assert.deepEqual([await held(failed.prior_version_id), await held(failed.version_id)], [true, false]);
  });

  test('has content hashes that Node can recompute for every version', async () => {
    for (const { id } of (await stack.ok('/v1/baskets')).json.data) {
      for (const { version_id } of (await stack.ok(`/v1/baskets/${id}/versions?pageSize=10`)).json.data) {
        const { data: version } = (await stack.ok(`/v1/baskets/${id}/version/${version_id}`)).json;
        assert.equal(recomputed(version), version.content_hash, version_id);
      }
    }
  });

  test('has content hashes that Python can recompute with its standard library', { skip: pythonSkipReason }, async () => {
    for (const rest of ['', `/version/${first}`, `/version/${second}`]) {
      const { data: version } = (await stack.ok(at(rest))).json;
      assert.equal(python(PYTHON, JSON.stringify(version)), version.content_hash);
    }
  });

  test('has signatures from which viem and ethers recover the service\'s signer', async () => {
    const [{ key_id, address }] = await verb(stack, 'signers', 'list');
    for (const target of [at(''), at(`/version/${first}`), '/v1/baskets/prime-vaults']) {
      const { content_hash: message, signing_key_id, signer_address, signature } = (await stack.ok(target)).json.data;
      assert.deepEqual([signing_key_id, signer_address], [key_id, address], target);
      assert.equal(ethersRecover(message, signature).toLowerCase(), signer_address);
      assert.equal(await verifyMessage({ address: signer_address, message, signature }), true);
    }
  });

  test('has the Cache-Control of the interface, and its content hash as ETag', async () => {
    const current = await stack.ok(at(''));
    const { content_hash } = current.json.data;
    assert.equal(current.headers.get('etag'), `"${content_hash}"`);
    assert.match(current.headers.get('cache-control'), /\bs-maxage=60\b.*\bstale-while-revalidate\b/);
    const version = await stack.ok(at(`/version/${second}`));
    assert.equal(version.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    for (const rest of ['', `/version/${second}`]) {
      const held = await stack.get(at(rest), { headers: { 'if-none-match': `"${content_hash}"` } });
      assert.deepEqual([held.status, held.text], [304, '']);
    }
  });

  test('at a given time is the version in force then', async () => {
    const [newer, older] = (await stack.ok(at('/versions'))).json.data;
    assert.deepEqual([newer.version_id, newer.prior_version_id, older.version_id], [second, first, first]);
    const then = async (instant) => (await stack.get(at(`?at=${instant}`))).json.data?.version_id;
    const earlier = (instant) => `${instant.slice(0, -7)}${(Number(instant.slice(-7, -1)) - 1).toString().padStart(6, '0')}Z`;
    assert.equal(await then(newer.effective_from), second);
    assert.equal(await then(older.effective_from), first);
    if (!newer.effective_from.endsWith('000000Z')) assert.equal(await then(earlier(newer.effective_from)), first);
    expectError(await stack.get(at('?at=2020-01-01')), 404, 'NOT_FOUND');
    assert.equal(expectError(await stack.get(at('?at=noon')), 400, 'INVALID_PARAMETER').details[0].name, 'at');
    expectError(await stack.get('/v1/baskets/no-such-basket'), 404, 'NOT_FOUND');
    expectError(await stack.get(at('/version/no-such-version')), 404, 'NOT_FOUND');
  });
});

describe('a refresh', () => {
  test('without a trigger creates no version, also when two run at once', async () => {
    for (const { result } of await Promise.all([basket.refresh(), basket.refresh()])) assert.equal(result, 'not_due');
    assert.equal((await stack.ok(at('/versions'))).json.meta.total, 2);
  });
});

describe('a version that is retired', () => {
  test('is deprecated first, and 410 at once even where a response was cached', async () => {
    const target = at(`/version/${first}`);
    const before = await stack.ok(target);
    await basket.say('deprecate', 1);
    // A version's response is cacheable for a year, so it does not change; the list of versions shows the deprecation.
    assert.equal((await stack.ok(at('/versions'))).json.data.find(({ version_id }) => version_id === first).support_status, 'deprecated');
    const warm = await stack.ok(target);
    assert.deepEqual(warm.json, before.json);
    assert.equal(warm.headers.get('x-cache'), 'HIT');
    const outcome = await verb(stack, 'baskets', 'retire', first, '--successor', second);
    assert.deepEqual([outcome.result, outcome.edge], ['done', 'acknowledged']);
    for (const headers of [{}, { 'if-none-match': warm.headers.get('etag') }]) {
      const gone = await stack.get(target, { headers });
      assert.equal(expectError(gone, 410, 'VERSION_RETIRED').successor, second);
      assert.equal(gone.headers.get('link'), `<${at(`/version/${second}`)}>; rel="successor-version"`);
    }
    const listed = await verb(stack, 'baskets', 'list');
    const { versions } = listed.baskets.find(({ id }) => id === basket.id);
    assert.deepEqual(versions.map(({ support_status }) => support_status), ['current', 'retired']);
  });

  test('cannot be the current one', async () => {
    const { stdout } = await failing(stack, originEnvironment(stack), 'baskets', 'retire', second, '--successor', second, '--json');
    assert.equal(JSON.parse(stdout).result, 'refused');
    assert.equal((await stack.get(at(''))).status, 200);
  });
});
