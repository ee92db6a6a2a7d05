// Indices and reference rates through the edge: access by index token, and exact recomputation from the published readings.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectShape } from './expect.mjs';
import * as fields from './index-fields.mjs';
import { data } from './interface-fields.mjs';
import { allowance } from './metering.mjs';
import { bearer, organisation, verb } from './operator.mjs';
import { up } from './private-stack.mjs';
import { listOf } from './shape.mjs';
import { until } from './stack.mjs';

const INDEX = '/v1/indices/prime-vaults';
const PRIVATE = ['/v1/indices', INDEX, `${INDEX}/levels`, '/v1/rates', '/v1/rates/deth'];
/** Decimal places of each figure. */
const [PRICE, RATIO, LEVEL, RATE] = [18, 12, 6, 8];

let stack;
let token;

const ask = (target, headers = token) => stack.get(target, { headers });
const read = async (target) => (await stack.ok(target, { headers: token })).json.data;

/** A number in integer units of 10^-`places`, from its shortest decimal text. */
function units(value, places) {
  const [mantissa, exponent = '0'] = String(value).split('e');
  const [whole, digits = ''] = mantissa.split('.');
  const shift = places + Number(exponent) - digits.length;
  const all = BigInt(whole + digits);
  return shift >= 0 ? all * 10n ** BigInt(shift) : rounded(all, 10n ** BigInt(-shift));
}

/** n / d rounded half to even, for positive d. */
function rounded(n, d) {
  if (n < 0n) return -rounded(-n, d);
  const [quotient, twice] = [n / d, 2n * (n % d)];
  return twice > d || (twice === d && quotient % 2n === 1n) ? quotient + 1n : quotient;
}

before(async () => {
  stack = await up('--data', 'demo', '--test-clock');
  token = bearer(stack.index_token);
}, { timeout: 400_000 });
after(() => stack?.stop());

describe('an index token', () => {
  test('is the only credential that opens the index routes, and has its own limit', async () => {
    for (const target of PRIVATE) {
      const answer = await ask(target);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(allowance(answer).limit, 300);
      for (const headers of [{}, ...Object.values(stack.keys).map(bearer), { ...bearer(stack.keys.embedded), 'if-none-match': '*' }]) {
        const refused = await ask(target, headers);
        assert.equal(expectError(refused, 401, 'UNAUTHORIZED').legacy_code, 'tier_required', target);
        assert.deepEqual([refused.headers.get('etag'), refused.headers.get('x-cache')], [null, null]);
      }
    }
  });

  test('gets private responses, which the edge caches for all index tokens', async () => {
    const { id, token: other } = await verb(stack, 'index-tokens', 'mint', '--org', organisation());
    for (const target of PRIVATE) {
      const first = await ask(target);
      assert.match(first.headers.get('cache-control'), /\bprivate\b/, target);
      const [again, others] = [await ask(target), await ask(target, bearer(other))];
      assert.deepEqual([again, others].map((answer) => answer.headers.get('x-cache')), ['HIT', 'HIT'], target);
      assert.equal(others.text, again.text);
      const confirmed = await ask(target, { ...bearer(other), 'if-none-match': again.headers.get('etag') });
      assert.deepEqual([confirmed.status, confirmed.text], [304, '']);
    }
    const revoked = await verb(stack, 'index-tokens', 'revoke', String(id));
    assert.equal(revoked.edge, 'acknowledged');
    for (const target of PRIVATE) assert.equal(expectError(await ask(target, bearer(other)), 401, 'UNAUTHORIZED').legacy_code, 'invalid_api_key');
    assert.equal((await ask(INDEX)).status, 200, 'the other token still works');
  });

  test('opens nothing else', async () => {
    for (const target of ['/v1/vaults', '/v1/me', '/v1/baskets/prime-vaults', '/v1/baskets/webhooks']) {
      assert.equal(expectError(await ask(target), 401, 'UNAUTHORIZED').legacy_code, 'invalid_api_key', target);
    }
  });

  test('gets 404 for unknown indices and rates, and the name of an invalid parameter', async () => {
    for (const target of ['/v1/indices/nothing', '/v1/indices/treasury-assets', '/v1/indices/nothing/levels', '/v1/rates/nothing']) {
      expectError(await ask(target), 404, 'NOT_FOUND');
    }
    for (const days of ['0', '-1', 'x', '1.5']) {
      const error = expectError(await ask(`${INDEX}/levels?days=${days}`), 400, 'INVALID_PARAMETER');
      assert.equal(error.details[0].name, 'days');
    }
    assert.equal((await read(`${INDEX}/levels?days=1`)).length, 1);
    assert.deepEqual(await read(`${INDEX}/levels?days=99999`), await read(`${INDEX}/levels`));
  });
});

describe('an index', () => {
  test('has its fields on every route', async () => {
    expectShape(await ask('/v1/indices'), data(listOf(fields.IndexRow)));
    expectShape(await ask(INDEX), data(fields.IndexDetail));
    expectShape(await ask(`${INDEX}/levels`), data(listOf(fields.IndexLevel)));
  });

  test('of the demo begins at 1000, and is chained over the basket\'s versions', async () => {
    for (const row of await read('/v1/indices')) {
      assert.deepEqual([row.base_level, row.latest === null], [1000, false], row.id);
      const { links } = await read(`/v1/indices/${row.id}`);
      const versions = (await stack.ok(`/v1/baskets/${row.id}/versions?pageSize=100`)).json.data;
      assert.deepEqual(links.map(({ version_id }) => version_id), versions.map(({ version_id }) => version_id).toReversed());
      assert.deepEqual([links[0].linked_on, links[0].level], [row.base_date, 1000]);
      const levels = await read(`/v1/indices/${row.id}/levels`);
      assert.ok(levels.filter(({ level }) => level !== null).length >= 3, 'three days of the demo have a level');
      const { date, level, is_final } = levels.findLast((one) => one.level !== null);
      assert.deepEqual({ date, level, is_final }, row.latest);
    }
  });

  test('can be recomputed exactly from the readings and the weights', async () => {
    const address = new Map((await stack.vaults()).map((row) => [row.id, row.address]));
    const prices = new Map();
    const closing = async (vault, day) => {
      if (!prices.has(vault)) {
        const target = `/v1/vault/devnet/${address.get(vault)}/snapshots?days=30&points=2160`;
        const points = (await stack.ok(target, { headers: bearer(stack.keys.data) })).json.data;
        const read = points.filter(({ price_per_share: price }) => price !== null);
        prices.set(vault, new Map(read.map((point) => [point.recorded_at.slice(0, 10), units(point.price_per_share, PRICE)])));
      }
      return prices.get(vault).get(day);
    };
    let checked = 0;
    for (const { id } of await read('/v1/indices')) {
      const { links } = await read(`/v1/indices/${id}`);
      const holdings = new Map();
      for (const { version_id } of links) {
        holdings.set(version_id, (await stack.ok(`/v1/baskets/${id}/version/${version_id}`)).json.data.constituents);
      }
      /** The index level at the end of a day while a version is held, from the level on the day on which the version was linked. */
      const level = async (link, day) => {
        let worth = 0n;
        for (const { id: vault, weight_ppm } of holdings.get(link.version_id)) {
          worth += BigInt(weight_ppm) * rounded((await closing(vault, day)) * 10n ** BigInt(RATIO), await closing(vault, link.linked_on));
        }
        return rounded(worth * units(link.level, LEVEL), 10n ** BigInt(RATIO + 6));
      };
      const linked = links.filter(({ linked_on }) => linked_on !== null);
      for (const row of await read(`/v1/indices/${id}/levels`)) {
        if (row.level === null) continue;
        // On the day on which a version is linked, the previous version still determines the level.
        const link = linked.findLast(({ linked_on }) => linked_on < row.date) ?? linked[0];
        assert.equal(await level(link, row.date), units(row.level, LEVEL), `${id} ${row.date}`);
        checked += 1;
      }
    }
    assert.ok(checked >= 6, `${checked} levels`);
  });
});

describe('a reference rate', () => {
  test('has its fields, in descending order of value', async () => {
    const answer = await ask('/v1/rates');
    expectShape(answer, data(listOf(fields.ReferenceRate)));
    const values = answer.json.data.map(({ tvl_usd }) => tvl_usd);
    assert.deepEqual(values, values.toSorted((a, b) => b - a));
    expectShape(await ask('/v1/rates/deth'), data(fields.ReferenceRateDetail));
  });

  test('can be recomputed from its vaults, whose figures match the vault list', async () => {
    const listed = new Map((await stack.vaults()).map((row) => [row.id, row]));
    let checked = 0;
    for (const row of await read('/v1/rates')) {
      const { constituents, excluded, ...rate } = await read(`/v1/rates/${row.asset_symbol.toLowerCase()}`);
      assert.deepEqual(rate, row);
      assert.deepEqual([constituents.length, excluded.length], [row.vaults, row.left_out]);
      for (const it of constituents) {
        const vault = listed.get(it.vault_id);
        assert.equal(vault.asset_symbol.toUpperCase(), row.asset_symbol);
        assert.deepEqual([units(it.tvl_usd, 2), it.total_score], [units(vault.tvl_usd, 2), vault.total_score]);
      }
      if (row.rate === null) continue;
      const total = constituents.reduce((sum, it) => sum + units(it.tvl_usd, 2), 0n);
      const weighted = constituents.reduce((sum, it) => sum + units(it.tvl_usd, 2) * units(it.apr_net, RATE), 0n);
      assert.equal(rounded(weighted, total), units(row.rate, RATE), row.asset_symbol);
      assert.equal(total, units(row.tvl_usd, 2));
      checked += 1;
    }
    assert.ok(checked >= 3, `${checked} rates`);
  });
});

// Last, because these tests move the clock.
describe('days without readings', () => {
  test('are gaps in an index, and after more than two of them the reference rate is null', async () => {
    const before = await read(`${INDEX}/levels`);
    const rates = await read('/v1/rates');
    await stack.advance(3 * 86_400);
    // Cached responses expire by the edge's own clock, which did not move. A new query is not cached; a repeated query gets current data
    // only after its cached response has expired.
    const levels = await read(`${INDEX}/levels?days=30`);
    assert.deepEqual(levels.slice(0, before.length - 1), before.slice(0, -1), 'final levels do not change');
    const unread = levels.slice(before.length);
    assert.ok(unread.length >= 3 && unread.every(({ level, gap }) => level === null && gap === 'unread'), JSON.stringify(unread));
    const stale = await until('the cached response has expired', 30, async () => {
      const rate = await read(`/v1/rates/${rates[0].asset_symbol}`);
      return rate.rate === null && rate;
    });
    assert.deepEqual([stale.vaults, stale.tvl_usd, stale.constituents], [0, 0, []]);
    assert.ok(stale.excluded.some(({ reason }) => reason === 'stale'));
  });
});
