// Recomputes published scores from the detail route's fields, in integers, by the methodology's text alone.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
let details;

before(async () => {
  const rows = await stack.vaults();
  details = await Promise.all(rows.map(async (row) => (await stack.ok(`/v1/vault/devnet/${row.address}?points=1`)).json.data.vault));
});

/** A published number as an integer count of ten-thousandths. */
const tenThousandths = (number) => {
  const whole = Math.round(number * 10_000);
  assert.ok(Math.abs(number * 10_000 - whole) < 1e-6, `${number} has more than four decimals`);
  return whole;
};

/** Rounds ten-thousandths to the published two decimals, half to even. */
function twoDecimals(value) {
  const down = Math.floor(value / 100);
  const rest = value % 100;
  const up = rest > 50 || (rest === 50 && down % 2 === 1);
  return (down + (up ? 1 : 0)) / 100;
}

const WEIGHTS = { asset: 35, platform: 30, control: 20, history: 15 };
const CAP_ORDER = [
  'asset_hard_fail', 'unaudited', 'incident', 'vector_floor', 'vector_weak', 'prime_gate', 'liquidity_deficit', 'bad_debt', 'needs_risk_review',
  'new_vault', 'low_tvl', 'eoa_control', 'asset_drag',
];
const FLOORS = { Prime: 8, Core: 5, Edge: 0 };

const scored = () => details.filter((vault) => vault.score_status === 'scored');

describe('a scored vault', () => {
  test('weights its four vectors as published', () => {
    for (const { id, risk_vectors: vectors, score_provenance: provenance } of scored()) {
      const sum = Object.entries(WEIGHTS).reduce((total, [name, percent]) => total + percent * hundredths(vectors[name].score), 0);
      assert.equal(tenThousandths(provenance.weighted_sum), sum, id);
      for (const [name, percent] of Object.entries(WEIGHTS)) assert.equal(vectors[name].weight, percent / 100, id);
    }
  });

  test('has the minimum of its weighted sum and its caps as score', () => {
    for (const { id, score_provenance: provenance } of scored()) {
      const least = Math.min(tenThousandths(provenance.weighted_sum), ...provenance.caps.map((cap) => tenThousandths(cap.value)));
      assert.equal(provenance.raw_score, twoDecimals(least), id);
      for (const cap of provenance.caps) {
        assert.equal(cap.binding, tenThousandths(cap.value) < tenThousandths(provenance.weighted_sum), `${id} ${cap.id}`);
      }
    }
  });

  test('lists its caps in the order of the table, and always asset_drag', () => {
    for (const { id, risk_vectors: vectors, score_provenance: provenance } of scored()) {
      const listed = provenance.caps.map((cap) => cap.id);
      assert.deepEqual(listed, CAP_ORDER.filter((name) => listed.includes(name)), id);
      assert.equal(cap(provenance, 'asset_drag').value, Math.min(10, (hundredths(vectors.asset.score) + 100) / 100), id);
    }
  });

  test('is capped by its weakest vector', () => {
    for (const { id, risk_vectors: vectors, score_provenance: provenance } of scored()) {
      const weakest = Math.min(...Object.values(vectors).map((vector) => vector.score));
      const [name, value] = weakest < 2 ? ['vector_floor', 4.9] : weakest < 4 ? ['vector_weak', 7.4] : weakest < 6.5 ? ['prime_gate', 7.95] : [];
      for (const candidate of ['vector_floor', 'vector_weak', 'prime_gate']) {
        assert.equal(cap(provenance, candidate)?.value, candidate === name ? value : undefined, id);
      }
    }
  });

  test('is capped for the values in its own row', () => {
    for (const vault of scored()) {
      const { id, score_provenance: provenance } = vault;
      assert.equal(cap(provenance, 'liquidity_deficit')?.value, vault.utilization > 1 ? 6 : undefined, id);
      assert.equal(cap(provenance, 'low_tvl')?.value, vault.tvl_status === 'unavailable' || vault.tvl_usd < 100_000 ? 7.4 : undefined, id);
      assert.equal(cap(provenance, 'needs_risk_review')?.value, vault.needs_risk_review ? 7.9 : undefined, id);
      assert.equal(cap(provenance, 'unaudited')?.value, provenance.inputs.platform.audits.value === 0 ? 4.9 : undefined, id);
    }
  });

  test('publishes its raw score, except during a dwell or after a change below 0.05 points', () => {
    for (const { id, total_score: total, risk_tier: tier, score_provenance: provenance } of scored()) {
      const { raw_score: raw, dwell } = provenance;
      if (dwell === null) {
        assert.ok(Math.abs(total - raw) < 0.05 + 1e-9, `${id}: ${total} for ${raw}`);
      } else {
        const held = Math.min(Math.max(raw, FLOORS[tier]), tier === 'Prime' ? 10 : tier === 'Core' ? 7.95 : 4.95);
        assert.ok(Math.abs(total - held) < 0.05 + 1e-9, `${id}: ${total} for ${raw}, held at ${held}`);
      }
    }
  });

  test('names source and time of each input', () => {
    for (const { id, score_provenance: provenance } of details.filter((vault) => vault.score_provenance)) {
      for (const [vector, inputs] of Object.entries(provenance.inputs)) {
        for (const [name, input] of Object.entries(inputs)) {
          if (input === null || typeof input !== 'object' || !('value' in input)) continue;
          assert.deepEqual(Object.keys(input), ['value', 'source', 'observed_at'], `${id} ${vector}.${name}`);
        }
      }
    }
  });
});

describe('an unscored vault', () => {
  test('shows null, and which vector could not be computed', () => {
    const unscored = details.filter((vault) => vault.score_status === 'unscored');
    assert.ok(unscored.length > 0, 'the demo has unscored vaults');
    for (const vault of unscored) {
      assert.deepEqual([vault.total_score, vault.risk_tier], [null, null], vault.id);
      if (vault.score_provenance === null) continue;
      const { asset, platform } = vault.risk_vectors;
      assert.ok(asset.score === null || platform.score === null, vault.id);
      assert.equal(vault.score_provenance.raw_score, null, vault.id);
    }
  });
});

const cap = (provenance, id) => provenance.caps.find((candidate) => candidate.id === id);

function hundredths(score) {
  const whole = Math.round(score * 100);
  assert.ok(Math.abs(score * 100 - whole) < 1e-6, `${score} has more than two decimals`);
  return whole;
}
