// A basket that only one test uses, over the demo's assets: each change of its rules makes a new version.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { verb } from './operator.mjs';
import { until } from './stack.mjs';

/** A constituent whose score equals the pivot gets no weight, so each of these pivots makes a different version. */
const PIVOTS = [7, 8, 7.5, 6.5, 7.8, 6];

export class OwnBasket {
  #stack;
  #versions = 0;
  id;

  constructor(stack, id) {
    this.#stack = stack;
    this.id = id;
  }

  /** Creates a basket with its first version; the default id is a new one. */
  static async create(stack, id = `e2e-${randomBytes(4).toString('hex')}`) {
    const basket = new OwnBasket(stack, id);
    await basket.#ingest({ kind: 'basket', observed_at: '2026-01-01T00:00:00Z', source: 'e2e', id: basket.id, name: 'End to end', constituent_type: 'asset' });
    await basket.rebalance();
    return basket;
  }

  /** The path of a route under the basket; `""` is the basket itself. */
  path(rest = '') {
    return `/v1/baskets/${this.id}${rest}`;
  }

  version(number) {
    return `${this.id}-v${number}`;
  }

  /** Changes the rules; resolves to the id of the resulting version once the version is published. */
  async rebalance() {
    this.#versions += 1;
    const version = this.version(this.#versions);
    await this.#ingest({
      kind: 'basket_methodology', observed_at: `2026-${String(this.#versions).padStart(2, '0')}-01T00:00:00Z`, source: 'e2e', basket_id: this.id,
      version: `rules-${this.#versions}`, summary: 'The best of the demo.', pivot: PIVOTS[this.#versions - 1], eligibility_rule: { tier: ['Prime'] },
      min_constituents: 5, single_name_pct: 20, issuer_pct: 35, floor_pct: 2,
    });
    // The outcome is not checked, because the service may have made the version before this refresh.
    await this.refresh();
    await until(`${version} is published`, 20, async () => (await this.#stack.get(this.path())).json?.data?.version_id === version);
    return version;
  }

  /** Refreshes all baskets; returns the outcome for this basket. */
  async refresh() {
    const outcome = await verb(this.#stack, 'baskets', 'refresh');
    assert.equal(outcome.edge, 'acknowledged');
    return outcome.baskets.find(({ id }) => id === this.id);
  }

  /** Deprecates or retires a version of this basket; `action` is `deprecate` or `retire`. */
  async say(action, number, successor) {
    const words = successor ? ['--successor', this.version(successor)] : [];
    const outcome = await verb(this.#stack, 'baskets', action, this.version(number), ...words);
    assert.deepEqual([outcome.result, outcome.edge], ['done', 'acknowledged']);
  }

  async #ingest(line) {
    const answer = await this.#stack.operate('/ingest', { method: 'POST', body: JSON.stringify(line) });
    assert.equal(answer.status, 200, answer.text);
  }
}

/** The SHA-256 of a basket version's content, computed from the fields of the API's response. */
export function recomputed({ id, constituents, effective_from, methodology_version, prior_version_id }) {
  const sorted = constituents.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  // Sorted keys, no white space and only integers: for such content this is the canonical form of RFC 8785.
  const content = {
    basket_id: id,
    constituents: sorted.map(({ id, issuer, score_mp, weight_ppm }) => ({ id, issuer, score_mp, weight_ppm })),
    effective_from, methodology_version, prior_version_id,
  };
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
