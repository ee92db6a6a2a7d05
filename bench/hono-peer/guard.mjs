// The Durable Object of one key: its record, and an exact count of the requests admitted in the current minute.
import { DurableObject } from 'cloudflare:workers';

const WINDOW_SECONDS = 60;

/** Counts each admitted request in a row before the answer. Memory holds the sum of the window's rows, which are also the key's usage. */
export class KeyGuard extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.sql.exec(`
      CREATE TABLE IF NOT EXISTS key (one INTEGER PRIMARY KEY CHECK (one = 1), record TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS counts (
        window INTEGER, endpoint TEXT, served INTEGER NOT NULL, last_seen INTEGER NOT NULL, PRIMARY KEY (window, endpoint)) WITHOUT ROWID;`);
    const [row] = this.sql.exec('SELECT record FROM key');
    this.record = row && JSON.parse(row.record);
    this.window = 0;
    this.used = 0;
  }

  /** Stores the key's record: `{ principal, rpm }`. */
  provision(record) {
    this.sql.exec('INSERT OR REPLACE INTO key VALUES (1, ?)', JSON.stringify(record));
    this.record = record;
  }

  /** Counts one request if the limit allows it; `null` if the key is unknown. */
  take(endpoint) {
    if (this.record === undefined) return null;
    const { principal, rpm: limit } = this.record;
    const now = Math.floor(Date.now() / 1000);
    this.enter(Math.max(this.window, Math.floor(now / WINDOW_SECONDS)));
    const reset = (this.window + 1) * WINDOW_SECONDS;
    if (this.used >= limit) return { principal, admitted: false, limit, remaining: 0, reset };
    this.sql.exec(
      `INSERT INTO counts VALUES (?, ?, 1, ?) ON CONFLICT DO UPDATE SET served = served + 1, last_seen = excluded.last_seen`,
      this.window, endpoint, now,
    );
    this.used += 1;
    return { principal, admitted: true, limit, remaining: limit - this.used, reset };
  }

  /** Starts a window with the count stored on disk. */
  enter(window) {
    if (window === this.window) return;
    this.window = window;
    this.used = this.sql.exec('SELECT coalesce(sum(served), 0) AS used FROM counts WHERE window = ?', window).one().used;
    this.sql.exec('DELETE FROM counts WHERE window < ?', window - 1);
  }
}
