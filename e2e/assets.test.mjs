// Assets and real-world assets through the edge: shapes, fields that need a key, and evidence that anyone can check.

import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { before, describe, test } from 'node:test';
import * as fields from './asset-fields.mjs';
import { AssetThirdParty } from './asset-score.mjs';
import { expectError, expectShape } from './expect.mjs';
import { data, paged } from './interface-fields.mjs';
import { listOf } from './shape.mjs';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
const keyed = { headers: { authorization: `Bearer ${stack.keys?.data}` } };
let assets;
let real;

before(async () => {
  assets = await stack.pages('/v1/assets/enriched');
  real = await stack.pages('/v1/rwa');
});

const scored = () => assets.find((row) => row.risk_score !== null && row.underlying_asset !== null);
const detailOf = (row) => `/v1/assets/${row.chain_id}/${row.address ?? 'native'}`;

describe('shapes', () => {
  test('lists, facets, coverage and reviewers', async () => {
    expectShape(await stack.get('/v1/assets/enriched'), paged(fields.AssetRow));
    expectShape(await stack.get('/v1/assets/enriched?include_quality=true'), paged(fields.AssetRow));
    expectShape(await stack.get('/v1/assets/enriched/facets'), data(fields.Facets));
    expectShape(await stack.get('/v1/rwa'), paged(fields.RwaRow));
    expectShape(await stack.get('/v1/rwa/facets'), data(fields.Facets));
    expectShape(await stack.get('/v1/rwa/coverage'), data(fields.Coverage));
    expectShape(await stack.get('/v1/reviewers'), data(listOf(fields.ReviewerRow)));
    expectShape(await stack.get('/v1/rwa/stats/history', keyed), fields.AumHistory);
  });

  test('every detail, with a key and without', async () => {
    for (const options of [undefined, keyed]) {
      for (const row of assets) expectShape(await stack.get(detailOf(row), options), data(fields.AssetDetail));
      for (const row of real) expectShape(await stack.get(`/v1/rwa/${row.asset_id}`, options), data(fields.RwaDetail));
    }
  });
});

describe('lists', () => {
  test('best score first, unscored last', () => {
    for (const rows of [assets, real]) {
      const scores = rows.map((row) => row.risk_score ?? -1);
      assert.deepEqual(scores, scores.toSorted((a, b) => b - a));
    }
  });

  test('facets count the whole universe, whatever the filters', async () => {
    const facets = (await stack.ok('/v1/assets/enriched/facets?category=native')).json.data;
    for (const [name, counts] of Object.entries(facets)) {
      assert.equal(counts.reduce((sum, { count }) => sum + count, 0), assets.length, name);
    }
    const unscored = facets.risk_tiers.find((bucket) => bucket.risk_tier === 'unknown');
    assert.equal(unscored.count, assets.filter((row) => row.risk_tier === null).length);
    assert.ok(facets.auditors.some((bucket) => bucket.auditor === '(unknown)'));
  });

  test('filters keep exactly the matching rows, and an unknown value is refused', async () => {
    for (const [query, keep] of [
      ['category=lst,lrt', (row) => ['lst', 'lrt'].includes(row.category)],
      ['risk_tier=unknown', (row) => row.risk_tier === null],
      ['review_status=provisional', (row) => row.review_status === 'provisional'],
      ['kyc_gate=accredited', (row) => row.institutional.kyc_gate === 'accredited'],
      [`search=${assets[0].symbol.toUpperCase()}`, (row) => row.symbol.toLowerCase().includes(assets[0].symbol.toLowerCase())],
    ]) {
      const { json } = await stack.ok(`/v1/assets/enriched?limit=100&${query}`);
      assert.deepEqual(json.data.map((row) => row.asset_id), assets.filter(keep).map((row) => row.asset_id), query);
    }
    expectError(await stack.get('/v1/assets/enriched?risk_tier=best'), 400, 'INVALID_PARAMETER');
    expectError(await stack.get('/v1/rwa?category=native'), 400, 'INVALID_PARAMETER');
  });
});

describe('a key gives access to', () => {
  test('dimensions, breakdown and attestations, which are not leaked to the next caller', async () => {
    const path = detailOf(scored());
    for (const options of [keyed, undefined, keyed, undefined]) {
      const detail = (await stack.ok(path, options)).json.data;
      const open = Object.values(detail.dimensions).filter((points) => points !== null).length;
      assert.deepEqual(
        [open > 0, detail.risk_score_breakdown !== null, detail.attestation_history.length > 0, detail.restricted_fields.length],
        options ? [true, true, true, 0] : [false, false, false, 3],
      );
    }
    const list = (await stack.ok('/v1/assets/enriched', keyed)).json.data;
    assert.ok(list.some((row) => Object.values(row.dimensions).some((points) => points !== null)));
    assert.ok(assets.every((row) => Object.values(row.dimensions).every((points) => points === null)));
  });

  test('the history of the total value', async () => {
    expectError(await stack.get('/v1/rwa/stats/history'), 401, 'UNAUTHORIZED');
    const days = (await stack.ok('/v1/rwa/stats/history?range=7d', keyed)).json.data;
    const included = real.filter((row) => row.canonical_aum.included);
    near(days.at(-1).value_usd, included.reduce((sum, row) => sum + row.canonical_aum.value_usd, 0));
  });
});

describe('evidence', () => {
  test('every score and its overlays can be recomputed from published data', async () => {
    const thirdParty = new AssetThirdParty((await stack.ok('/v1/methodology')).json.data);
    const rules = new Set();
    let scores = 0;
    for (const row of assets) {
      const detail = (await stack.ok(detailOf(row), keyed)).json.data;
      assert.deepEqual(thirdParty.differences(detail), []);
      assert.equal(detail.risk_score_breakdown?.score ?? null, row.risk_score);
      if (row.risk_score === null) continue;
      const { overlays_applied } = detail.risk_score_breakdown;
      assert.deepEqual(detail.caps_applied, overlays_applied.filter(({ kind }) => kind === 'cap').map(({ id }) => id));
      for (const { id, reason } of overlays_applied) {
        rules.add(id.split(':')[0]);
        assert.ok(reason.length > 0, `${row.slug} ${id}`);
      }
      scores += 1;
    }
    assert.ok(scores > 10, `${scores}`);
    for (const rule of ['lockup', 'yield-bearing', 'chain', 'review', 'hard_fail']) assert.ok(rules.has(rule), `${rule}: ${[...rules]}`);
  });

  test('every signature verifies with a standard Ed25519 implementation', async () => {
    const reviewers = (await stack.ok('/v1/reviewers')).json.data;
    let checked = 0;
    for (const row of real) {
      const { attestation_history: signed } = (await stack.ok(`/v1/rwa/${row.asset_id}`, keyed)).json.data;
      for (const { public_key: key, message, signature, reviewer_id: who, key_id: which } of signed) {
        assert.ok(verify(null, Buffer.from(message), ed25519(key), Buffer.from(signature, 'hex')));
        assert.ok(!verify(null, Buffer.from(`${message} `), ed25519(key), Buffer.from(signature, 'hex')));
        const published = reviewers.find((one) => one.reviewer_id === who).keys.find((one) => one.key_id === which);
        assert.equal(published.public_key, key);
        checked += 1;
      }
    }
    assert.ok(checked > 0);
  });
});

/** A raw public key as SPKI DER (RFC 8410), which Node reads. */
function ed25519(hex) {
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(hex, 'hex')]);
  return createPublicKey({ key: der, format: 'der', type: 'spki' });
}

function near(actual, expected) {
  assert.ok(Math.abs(actual - expected) <= 1e-6 * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`);
}
