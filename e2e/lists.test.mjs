// Filters, order and pages of lists, checked against the complete list.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { expectError } from './expect.mjs';
import { MAX_ROWS_WITHOUT_KEY, sharedStack } from './stack.mjs';

const stack = sharedStack();
let rows;

before(async () => {
  rows = await stack.vaults();
});

const ids = (list) => list.map((row) => row.id);
const byId = (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** A row's value for a sort field; null if unknown. */
function value(row, field) {
  return field === 'name' ? row.name.toLowerCase() : row[field];
}

/** `list` sorted independently: unknown values last in both directions, ties by id. */
function inOrder(list, field, direction) {
  return list.toSorted((a, b) => {
    const [x, y] = [value(a, field), value(b, field)];
    if (x === null || y === null) return (x === null) - (y === null) || byId(a, b);
    const order = x < y ? -1 : x > y ? 1 : 0;
    return (direction === 'asc' ? order : -order) || byId(a, b);
  });
}

/** Expects that the query returns exactly the rows that `keep` selects, largest first, and at least one. */
async function filters(query, keep) {
  const expected = inOrder(rows.filter(keep), 'tvl_usd', 'desc');
  assert.ok(expected.length > 0, `${query} should match a row of the demo`);
  assert.deepEqual(ids(await stack.pages(`/v1/vaults?${query}`)), ids(expected.slice(0, MAX_ROWS_WITHOUT_KEY)), query);
  assert.equal((await stack.ok(`/v1/vaults?${query}`)).json.meta.total, expected.length, query);
}

describe('filters', () => {
  test('a chain can be given by slug or number', async () => {
    await filters('chain=devnet', () => true);
    await filters('chain=31337', () => true);
    await filters('chain=nowhere,DEVNET', () => true);
  });

  test('protocols, curators and assets are comma-separated lists', async () => {
    const protocols = [...new Set(rows.map((row) => row.protocol_id))].slice(0, 2);
    await filters(`protocol=${protocols.join(',')}`, (row) => protocols.includes(row.protocol_id));
    const curators = [...new Set(rows.map((row) => row.curator_id).filter(Boolean))].slice(0, 2);
    await filters(`curator=${curators.join(',')}`, (row) => curators.includes(row.curator_id));
    const { asset_symbol: symbol } = rows.find((row) => row.asset_symbol !== null);
    await filters(`asset=${symbol.toLowerCase()}`, (row) => row.asset_symbol === symbol);
  });

  test('an unknown name gives an empty list with total 0', async () => {
    const { json } = await stack.ok('/v1/vaults?protocol=nobody');
    assert.deepEqual(json, { data: [], meta: { page: 1, limit: 20, total: 0, totalPages: 0 } });
  });

  test('tiers are case-insensitive', async () => {
    await filters('riskTier=PRIME', (row) => row.risk_tier === 'Prime');
    await filters('riskTier=edge,Core', (row) => row.risk_tier === 'Edge' || row.risk_tier === 'Core');
  });

  test('score bounds are inclusive and exclude unscored vaults', async () => {
    const scores = rows.map((row) => row.total_score).filter((score) => score !== null).sort((a, b) => a - b);
    const middle = scores[Math.floor(scores.length / 2)];
    await filters(`minRiskScore=${middle}`, (row) => row.total_score !== null && row.total_score >= middle);
    await filters(`maxRiskScore=${middle}`, (row) => row.total_score !== null && row.total_score <= middle);
    await filters(`minRiskScore=${middle}&maxRiskScore=${middle}`, (row) => row.total_score === middle);
    await filters('minRiskScore=0', (row) => row.total_score !== null);
    await filters('maxRiskScore=10', (row) => row.total_score !== null);
  });

  test('minScore and min_score are aliases of minRiskScore', async () => {
    await filters('minScore=5', (row) => row.total_score !== null && row.total_score >= 5);
    await filters('min_score=5', (row) => row.total_score !== null && row.total_score >= 5);
  });

  test('depositable=true keeps open and unknown, false only closed', async () => {
    await filters('depositable=true', (row) => row.deposit_status !== 'closed');
    await filters('depositable=false', (row) => row.deposit_status === 'closed');
  });

  test('audited and highConfidence match the fields of the rows', async () => {
    await filters('audited=true', (row) => row.is_audited);
    await filters('audited=false', (row) => !row.is_audited);
    const confident = (row) => row.total_score !== null && row.total_score >= 7.5 && row.apr_net !== null && row.apr_net >= 0.03 && row.apr_net <= 0.1;
    await filters('highConfidence=true', confident);
    await filters('highConfidence=false', (row) => !confident(row));
  });

  for (const trait of ['stablecoin', 'lsd', 'singleExposure', 'noIL']) {
    test(`${trait} splits the list into two disjoint parts`, async () => {
      const yes = (await stack.ok(`/v1/vaults?${trait}=true&limit=100`)).json;
      const no = (await stack.ok(`/v1/vaults?${trait}=FALSE&limit=100`)).json;
      assert.equal(yes.meta.total + no.meta.total, rows.length);
      assert.ok(yes.meta.total > 0 && no.meta.total > 0, 'the demo has both');
      assert.deepEqual(ids(yes.data).filter((id) => ids(no.data).includes(id)), []);
    });
  }

  test('search finds a part of any name in any case', async () => {
    const row = rows.find((candidate) => candidate.curator_name !== null && candidate.asset_symbol !== null);
    for (const name of ['name', 'asset_symbol', 'protocol_name', 'curator_name']) {
      const part = row[name].slice(0, -1);
      for (const term of [part.toUpperCase(), ` ${part.toLowerCase()} `]) {
        const found = await stack.pages(`/v1/vaults?protocol=${row.protocol_id}&search=${encodeURIComponent(term)}`);
        assert.ok(ids(found).includes(row.id), `${term} finds ${row.id}`);
      }
    }
    assert.deepEqual(await stack.pages('/v1/vaults?search=%25'), [], 'a percent sign is not a wildcard');
  });

  test('minTvl is inclusive', async () => {
    const tvl = rows.map((row) => row.tvl_usd).sort((a, b) => a - b)[Math.floor(rows.length / 2)];
    await filters(`minTvl=${tvl}`, (row) => row.tvl_usd >= tvl);
  });

  test('several filters apply together', async () => {
    await filters('depositable=true&minRiskScore=5&audited=true', (row) => row.deposit_status !== 'closed' && row.total_score >= 5 && row.is_audited);
  });
});

describe('order', () => {
  const fields = [
    'tvl_usd', 'available_liquidity_usd', 'liquidity_deficit_usd', 'apr_net', 'borrow_apr_net', 'borrow_reward_apr',
    'utilization', 'real_yield_share', 'name', 'total_score', 'last_synced_at',
  ];
  for (const field of fields) {
    for (const direction of ['asc', 'desc']) {
      test(`${field} ${direction}: unknown values last, ties by id, pages without overlap or omission`, async () => {
        const order = `sortBy=${field}&sortOrder=${direction}`;
        const expected = inOrder(rows, field, direction).slice(0, MAX_ROWS_WITHOUT_KEY);
        assert.deepEqual(ids(await stack.pages(`/v1/vaults?${order}`, 40)), ids(expected));
        const { protocol_id: protocol } = rows[0];
        const narrow = inOrder(rows.filter((row) => row.protocol_id === protocol), field, direction);
        assert.deepEqual(ids(await stack.pages(`/v1/vaults?protocol=${protocol}&${order}`, 7)), ids(narrow));
      });
    }
  }

  test('the largest vaults come first by default', async () => {
    assert.deepEqual(ids(await stack.pages('/v1/vaults')), ids(inOrder(rows, 'tvl_usd', 'desc').slice(0, MAX_ROWS_WITHOUT_KEY)));
  });

  test('curators sort by each of their fields', async () => {
    const whole = await stack.pages('/v1/curators');
    for (const field of ['tvl_total', 'vault_count', 'avg_apr', 'name']) {
      for (const direction of ['asc', 'desc']) {
        const listed = await stack.pages(`/v1/curators?sortBy=${field}&sortOrder=${direction}`, 2);
        assert.deepEqual(ids(listed), ids(inOrder(whole, field, direction)), `${field} ${direction}`);
      }
    }
  });
});

describe('pages', () => {
  test('a page size above the maximum counts as the maximum', async () => {
    const { json } = await stack.ok('/v1/vaults?limit=5000');
    assert.equal(json.meta.limit, 100);
  });

  test('a page beyond the last is empty and still has the total', async () => {
    const { id } = rows[0];
    const { json } = await stack.ok(`/v1/vaults?page=2&limit=100&search=${encodeURIComponent(rows[0].name)}&protocol=${rows[0].protocol_id}`);
    assert.deepEqual(json.data, [], id);
    assert.ok(json.meta.total >= 1 && json.meta.total <= 100);
  });

  for (const [first, refused] of [['page=2&limit=100', 'page=3&limit=100'], ['page=10', 'page=11'], ['page=200&limit=1', 'page=201&limit=1']]) {
    test(`without a key ${first} is served and ${refused} asks for one`, async () => {
      assert.equal((await stack.get(`/v1/vaults?${first}`)).status, 200);
      const error = expectError(await stack.get(`/v1/vaults?${refused}`), 403, 'FORBIDDEN');
      assert.match(error.message, /\bkey\b/);
    });
  }

  test('the largest possible page number is refused like any page that needs a key', async () => {
    expectError(await stack.get('/v1/vaults?page=4294967295&limit=100'), 403, 'FORBIDDEN');
  });

  test('vaults inside a protocol page are paged too', async () => {
    const { protocol_id: id } = rows[0];
    const paths = async (page) => (await stack.ok(`/v1/protocols/${id}?vaultPage=${page}&vaultLimit=1`)).json.data;
    const whole = (await stack.ok(`/v1/protocols/${id}?vaultLimit=100`)).json.data.vaults;
    const walked = [];
    for (let page = 1; page <= whole.length; page += 1) walked.push(...(await paths(page)).vaults);
    assert.deepEqual(ids(walked), ids(whole));
  });
});
