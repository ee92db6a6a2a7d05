// The writers of facts: one writer per group of vaults. A batch sets every vault of the group to the same new number and contains one
// event; the writer sends it until an origin acknowledges it.

import { request } from '../stack.mjs';

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));
const CHAIN = 31337;
const VAULTS = 4;
/** A vault's TVL is this amount plus the number of its state. */
const BASE_USD = 1_000_000;
const TIMEOUT_MILLIS = 10_000;

/** A group of vaults: a protocol and its members. */
export class Group {
  constructor(name, place) {
    this.name = name;
    this.protocol = `campaign-${name}`;
    this.addresses = Array.from({ length: VAULTS }, (_, vault) => `0x${(0xca000 + place * 256 + vault).toString(16).padStart(40, '0')}`);
    this.vaults = this.addresses.map((address) => `${this.protocol}-${CHAIN}-${address}`);
  }

  /** The facts that are ingested before the first batch, with state 0. */
  beginning(at) {
    const line = (kind, fields) => ({ kind, observed_at: at, source: 'campaign', ...fields });
    return [
      line('protocol', {
        id: this.protocol, name: `Campaign ${this.name}`, version: 'v1', version_deployed_at: '2025-01-01T00:00:00Z', audits: 2,
        newest_audit_at: '2026-06-01T00:00:00Z', strategy: 'lending_pool', dependencies: [], tvl_usd: 5e6,
      }),
      ...this.addresses.map((address, vault) =>
        line('vault', { protocol_id: this.protocol, chain_id: CHAIN, address, name: `Vault ${vault} of ${this.name}`, asset_symbol: 'USD', asset_mode: 'holdings', deployed_at: '2025-02-01T00:00:00Z' })),
      ...this.vaults.map((vault_id) => line('exposure', { vault_id, status: 'unavailable' })),
      ...this.#states(0, at),
    ];
  }

  /** State `number` of every vault, and its event. */
  batch(number, at) {
    const event = {
      kind: 'event', observed_at: at, occurred_at: at, source: 'campaign', event_key: `campaign-${this.name}-${number}`,
      event_type: 'Notice', severity: 'Info', title: `${this.name} ${number}`,
    };
    return [...this.#states(number, at), event];
  }

  #states(number, observed_at) {
    return this.vaults.map((vault_id) => ({
      kind: 'vault_state', observed_at, source: 'campaign', vault_id, tvl_usd: BASE_USD + number, utilization: 0.5, base_apr: 0.04,
      deposit_status: 'open', price_per_share: 1.01,
    }));
  }
}

/** The number of the state that a row shows. */
export const numberIn = (row) => Math.round(row.tvl_usd - BASE_USD);

/** The numbers of the states that the history of each group's first vault has, by group. */
export async function statesInHistory(groups, edgeUrl) {
  const kept = new Map();
  for (const { name, vaults } of groups) {
    const { json } = await request(edgeUrl, `/v1/vaults/${vaults[0]}?points=2160`);
    kept.set(name, new Set(json.data.snapshots.map(numberIn)));
  }
  return kept;
}

/** A batch as the body of an ingest request. */
export const lines = (batch) => batch.map((line) => JSON.stringify(line)).join('\n');

/** Writes one group, a batch at a time. */
export class Writer {
  /** The bodies of all batches, in order, so that they can be sent again. */
  batches = [];
  /** Responses that neither accepted a batch nor allow a retry. */
  refusals = [];
  stopped = false;
  #resting = false;

  constructor(group, { dice, origins, written }) {
    Object.assign(this, { group, dice, origins, written });
  }

  start() {
    this.done = this.#run();
  }

  async #run() {
    while (!this.stopped) {
      if (!this.#resting) {
        this.busy = this.#next();
        await this.busy;
      }
      await sleep(this.dice.between(60, 300));
    }
  }

  async #next() {
    const number = this.batches.length + 1;
    const at = new Date().toISOString().replace(/(\.\d{3})Z$/, `$1${String(number % 1000).padStart(3, '0')}Z`);
    const body = lines(this.group.batch(number, at));
    this.batches.push(body);
    this.written.begin(this.group.name, number);
    await this.#send(body);
    this.written.tell(this.group.name, number);
  }

  /** Sends a batch until an origin acknowledges it. */
  async #send(body) {
    while (!this.stopped) {
      const answer = await this.dice.pick(this.origins).operate('/ingest', { method: 'POST', body, timeout: TIMEOUT_MILLIS }).catch(() => undefined);
      if (answer?.status === 200) return;
      // An origin whose clock is behind refuses observations later than its clock; the other origin accepts them, or the same one later.
      const isAhead = answer?.status === 400 && /ahead|future/.test(answer.text);
      if (answer && answer.status !== 503 && answer.status !== 504 && !isAhead) this.refusals.push(`${answer.status} ${answer.text.slice(0, 200)}`);
      await sleep(100);
    }
  }

  /** Waits until the current batch is acknowledged, and sends no more until `goOn`. */
  async rest() {
    this.#resting = true;
    await this.busy;
  }

  goOn() {
    this.#resting = false;
  }

  /** Sends all batches from index `from` again, as an operator does after a restore. */
  async sayAgain(from) {
    for (const body of this.batches.slice(from)) await this.#send(body);
  }

  stop() {
    this.stopped = true;
    return this.done;
  }
}
