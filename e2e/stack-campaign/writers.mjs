// Who brings facts: one writer a group of vaults, who gives every vault of it the same new number in one batch, tells of it by an
// event, and says it again until somebody has said that it is committed.

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));
const CHAIN = 31337;
const VAULTS = 4;
/** A vault's TVL is this and the number of its state. */
const BASE_USD = 1_000_000;
const PATIENCE_MILLIS = 10_000;

/** A group of vaults: a protocol and its members. */
export class Group {
  constructor(name, place) {
    this.name = name;
    this.protocol = `campaign-${name}`;
    this.addresses = Array.from({ length: VAULTS }, (_, vault) => `0x${(0xca000 + place * 256 + vault).toString(16).padStart(40, '0')}`);
    this.vaults = this.addresses.map((address) => `${this.protocol}-${CHAIN}-${address}`);
  }

  /** What is so before the first batch. */
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

  /** State `number`, and the event that tells of it. */
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

/** A batch as the ingest door takes it. */
export const lines = (batch) => batch.map((line) => JSON.stringify(line)).join('\n');

/** Writes one group, a batch at a time. */
export class Writer {
  /** Every batch so far, so that it can be sent again. */
  batches = [];
  /** Answers that neither took a batch nor said to come again. */
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
    await this.#say(body);
    this.written.tell(this.group.name, number);
  }

  /** Says it until it is taken. */
  async #say(body) {
    while (!this.stopped) {
      const answer = await this.dice.pick(this.origins).operate('/ingest', { method: 'POST', body, timeout: PATIENCE_MILLIS }).catch(() => undefined);
      if (answer?.status === 200) return;
      // A process whose clock is behind takes nothing that is ahead of it: another one does, or it later.
      const isAhead = answer?.status === 400 && /ahead|future/.test(answer.text);
      if (answer && answer.status !== 503 && answer.status !== 504 && !isAhead) this.refusals.push(`${answer.status} ${answer.text.slice(0, 200)}`);
      await sleep(100);
    }
  }

  /** Waits until what it says is said, and says nothing more until `goOn`. */
  async rest() {
    this.#resting = true;
    await this.busy;
  }

  goOn() {
    this.#resting = false;
  }

  /** What an operator does after a restore: what was observed since the backup is sent again. */
  async sayAgain(from) {
    for (const body of this.batches.slice(from)) await this.#say(body);
  }

  stop() {
    this.stopped = true;
    return this.done;
  }
}
