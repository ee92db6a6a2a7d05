// Producers of operations, whose transactions end in every possible way, and the ledger of what was committed.

import { randomUUID } from 'node:crypto';

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));
/** The vault of some of the operations. */
export const VAULT = '1:0x00000000000000000000000000000000000000aa';

/** The outcome of each operation as its producer knows it. A title identifies an operation. */
export class Ledger {
  /** Title to `{title, op, family, vault, began, ended}`; `began` and `ended` are times before and after its transaction. */
  committed = new Map();
  /** Titles of operations that were rolled back, or whose commit was never sent. */
  undone = new Set();
  /** Operations whose commit got no response. */
  doubtful = new Map();
  #watchers = new Set();

  commit(operations) {
    const ended = performance.now();
    for (const operation of operations) this.committed.set(operation.title, { ...operation, ended });
    for (const watcher of this.#watchers) watcher();
  }

  undo(operations) {
    for (const { title } of operations) this.undone.add(title);
  }

  doubt(operations) {
    for (const operation of operations) this.doubtful.set(operation.title, { ...operation, ended: Infinity });
  }

  /** Calls `watcher` at each commit; returns a function that removes the watcher. */
  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Resolves the doubtful operations from the database: a visible row was committed. */
  async settle(postgres) {
    for (const { gid } of await postgres.ask('select gid from pg_prepared_xacts')) await postgres.ask(`commit prepared '${gid}'`);
    const keys = [...this.doubtful.values()].map(({ key }) => key);
    const there = new Set((await postgres.ask('select event_id from push_operation where event_id = any($1)', [keys])).map((row) => row.event_id));
    for (const [title, operation] of this.doubtful) {
      if (there.has(operation.key)) this.committed.set(title, operation);
      else this.undone.add(title);
    }
    this.doubtful.clear();
  }
}

class Producer {
  constructor(name, dice, ledger) {
    Object.assign(this, { name, dice, ledger, count: 0, stopped: false });
  }

  start() {
    this.done = this.run();
  }

  stop() {
    this.stopped = true;
    return this.done;
  }

  title() {
    this.count += 1;
    return `${this.name} ${this.count}`;
  }
}

/** Writes operations as the service's own transactions do, and ends transactions in every way that Postgres has. */
export class DirectProducer extends Producer {
  constructor(name, dice, ledger, postgres) {
    super(name, dice, ledger);
    this.postgres = postgres;
  }

  async run() {
    while (!this.stopped) {
      let client;
      try {
        client = await this.postgres.connect();
        while (!this.stopped) {
          await this.transaction(client);
          await sleep(this.dice.between(2, 40));
        }
      } catch {
        await sleep(100); // The database is unavailable; the ledger has the operations in flight.
      } finally {
        await client?.end().catch(() => {});
      }
    }
  }

  /** Between one and five operations, occasionally more than one replay batch. */
  operations() {
    const { dice } = this;
    const count = dice.chance(0.04) ? dice.between(300, 1500) : dice.between(1, 5);
    const began = performance.now();
    return Array.from({ length: count }, () => {
      const op = dice.chance(0.1) ? null : dice.pick(['published', 'promoted', 'retracted']);
      const family = op === null || (count < 10 && dice.chance(0.3)) ? dice.pick(['event.published', 'event.retracted', 'rating.changed']) : null;
      return { title: this.title(), key: randomUUID(), op, family, vault: dice.chance(0.2) ? VAULT : null, began };
    });
  }

  async transaction(client) {
    const { dice, ledger } = this;
    const operations = this.operations();
    const way = dice.pick(['commit', 'commit', 'commit', 'hold', 'roll back', 'savepoint', 'prepare', 'prepare and roll back']);
    let commitSent = false;
    try {
      await client.query('begin');
      await insert(client, operations);
      if (way === 'savepoint') {
        const lost = this.operations().slice(0, 3);
        ledger.undo(lost);
        await client.query('savepoint here');
        await insert(client, lost);
        await client.query('rollback to savepoint here');
      }
      if (way === 'hold') await sleep(dice.between(50, 700));
      if (way === 'roll back') {
        await client.query('rollback');
        return ledger.undo(operations);
      }
      commitSent = true;
      if (way.startsWith('prepare')) await this.prepared(client, way);
      else await client.query('commit');
      if (way === 'prepare and roll back') ledger.undo(operations);
      else ledger.commit(operations);
    } catch (error) {
      // Before the commit was sent nothing can have been committed; after that the outcome is unknown.
      if (commitSent) ledger.doubt(operations);
      else ledger.undo(operations);
      throw error;
    }
  }

  /** Prepares the transaction, waits, and ends it. `Ledger.settle` commits one that a crash left prepared. */
  async prepared(client, way) {
    const name = randomUUID();
    await client.query(`prepare transaction '${name}'`);
    await sleep(this.dice.between(0, 300));
    await client.query(way === 'prepare' ? `commit prepared '${name}'` : `rollback prepared '${name}'`);
  }
}

const INSERT = `
  insert into push_operation (recorded_at, family, stream_op, event_id, vault_ids, chain_ids, body)
  select now(), r.family, r.op, r.key, case when r.vault is null then '{}' else array[r.vault] end, '{}', convert_to(r.body, 'UTF8')
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) with ordinality as r (family, op, key, vault, body, place)
  order by r.place`;

function insert(client, operations) {
  const body = ({ title, key }) => JSON.stringify({ id: key, title, padding: 'x'.repeat(600) });
  const column = (read) => operations.map(read);
  const columns = [column(({ family }) => family), column(({ op }) => op), column(({ key }) => key), column(({ vault }) => vault), column(body)];
  return client.query(INSERT, columns);
}

/** Reports events to either origin, and retries until one has accepted them. */
export class Reporter extends Producer {
  constructor(name, dice, ledger, origins) {
    super(name, dice, ledger);
    this.origins = origins;
  }

  async run() {
    while (!this.stopped) {
      const now = new Date().toISOString().replace(/(\.\d{3})Z$/, '$1000Z');
      const operation = { title: this.title(), op: 'published', family: 'event.published', vault: null, began: performance.now() };
      const line = {
        kind: 'event', observed_at: now, occurred_at: now, source: 'campaign', event_key: `campaign-${randomUUID()}`,
        event_type: 'Notice', severity: 'Info', title: operation.title,
      };
      await this.report(JSON.stringify(line));
      this.ledger.commit([operation]);
      await sleep(this.dice.between(10, 80));
    }
  }

  async report(body) {
    for (;;) {
      const answer = await this.dice.pick(this.origins).operate('/ingest', { method: 'POST', body }).catch(() => undefined);
      if (answer?.status === 200) return;
      if (answer?.status >= 400 && answer.status < 500) throw new Error(`an event was refused: ${answer.status} ${answer.text}`);
      await sleep(100);
    }
  }
}
