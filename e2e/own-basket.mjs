// A basket of a test's own, over the demo's assets: other rules make another version of it.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { verb } from './operator.mjs';
import { until } from './stack.mjs';

/** A name with a score at its pivot has no weight: no two of these make the same version. */
const PIVOTS = [7, 8, 7.5, 6.5, 7.8, 6];

export class OwnBasket {
  #stack;
  #made = 0;
  id;

  constructor(stack, id) {
    this.#stack = stack;
    this.id = id;
  }

  /** With its first version, under a name that nobody has unless one is given. */
  static async create(stack, id = `e2e-${randomBytes(4).toString('hex')}`) {
    const basket = new OwnBasket(stack, id);
    await basket.#ingest({ kind: 'basket', observed_at: '2026-01-01T00:00:00Z', source: 'e2e', id: basket.id, name: 'End to end', constituent_type: 'asset' });
    await basket.rebalance();
    return basket;
  }

  /** A path under the basket; `""` is the basket itself. */
  path(rest = '') {
    return `/v1/baskets/${this.id}${rest}`;
  }

  version(number) {
    return `${this.id}-v${number}`;
  }

  /** Gives it other rules, and resolves to the id of the version that they make once it shows. */
  async rebalance() {
    this.#made += 1;
    const version = this.version(this.#made);
    await this.#ingest({
      kind: 'basket_methodology', observed_at: `2026-${String(this.#made).padStart(2, '0')}-01T00:00:00Z`, source: 'e2e', basket_id: this.id,
      version: `rules-${this.#made}`, summary: 'The best of the demo.', pivot: PIVOTS[this.#made - 1], eligibility_rule: { tier: ['Prime'] },
      min_constituents: 5, single_name_pct: 20, issuer_pct: 35, floor_pct: 2,
    });
    // The service may have been quicker.
    await this.refresh();
    await until(`${version} shows`, 20, async () => (await this.#stack.get(this.path())).json?.data?.version_id === version);
    return version;
  }

  /** Refreshes all baskets, and gives what became of this one. */
  async refresh() {
    const said = await verb(this.#stack, 'baskets', 'refresh');
    assert.equal(said.edge, 'acknowledged');
    return said.baskets.find(({ id }) => id === this.id);
  }

  /** Says of one of its versions that it is deprecated or retired. */
  async say(word, number, successor) {
    const words = successor ? ['--successor', this.version(successor)] : [];
    const said = await verb(this.#stack, 'baskets', word, this.version(number), ...words);
    assert.deepEqual([said.result, said.edge], ['done', 'acknowledged']);
  }

  async #ingest(line) {
    const answer = await this.#stack.operate('/ingest', { method: 'POST', body: JSON.stringify(line) });
    assert.equal(answer.status, 200, answer.text);
  }
}

/** The SHA-256 of what a served version is, from its own fields. */
export function recomputed({ id, constituents, effective_from, methodology_version, prior_version_id }) {
  const sorted = constituents.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  // Keys in order, nothing spaced, integers only: RFC 8785 asks no more of it.
  const content = {
    basket_id: id,
    constituents: sorted.map(({ id, issuer, score_mp, weight_ppm }) => ({ id, issuer, score_mp, weight_ppm })),
    effective_from, methodology_version, prior_version_id,
  };
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
