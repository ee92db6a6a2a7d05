// The system under test: a Postgres and two origins as processes, and the faults that hit them.

import { spawn } from 'node:child_process';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { ended, originEnvironment } from '../private-stack.mjs';
import { request, until } from '../stack.mjs';

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));
/** Maximum time for a process to recover. */
const BACK_SECONDS = 60;

/** A process that can be restarted under the same name. */
export class Part {
  constructor(name, folder) {
    this.name = name;
    this.log = createWriteStream(join(folder, `${name}.log`), { flags: 'a' });
    process.once('exit', () => this.child?.kill('SIGKILL'));
  }

  run(program, words, options) {
    this.child = spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) stream.pipe(this.log, { end: false });
  }

  get isRunning() {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Sends the process a signal that ends it; resolves when the process has exited. */
  async end(signal) {
    if (this.isRunning) await ended(this.child, signal);
  }

  signal(name) {
    this.child.kill(name);
  }
}

/** The database server. */
export class Postgres extends Part {
  constructor({ postgres, database_url: url, logs }) {
    super('postgres', logs);
    Object.assign(this, { how: postgres, url });
  }

  /** Starts the server without waiting until it is ready. `more` are additional server settings. */
  launch(...more) {
    const { program, arguments: words, folder, uid, gid } = this.how;
    const settings = ['max_prepared_transactions=16', ...more].flatMap((setting) => ['-c', setting]);
    this.run(program, [...words, ...settings], { cwd: folder, env: {}, ...(uid !== null && { uid, gid }) });
  }

  async start() {
    this.launch();
    await until('Postgres answers', BACK_SECONDS, () => this.ask('select 1'));
  }

  /** As `pg_ctl stop -m immediate`: every server process ends at once, and the next start runs recovery. */
  crash() {
    return this.end('SIGQUIT');
  }

  /** Runs one statement on a new connection. */
  async ask(sql, values) {
    const client = await this.connect();
    try {
      return (await client.query(sql, values)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** A connection. If it breaks, its next use fails; the `error` event is ignored. */
  async connect() {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5000 });
    client.on('error', () => {});
    await client.connect();
    return client;
  }
}

/** One of the origin's processes. */
export class Origin extends Part {
  /** Its edge, relay and admin listeners use three consecutive ports from `port` on. */
  constructor(name, description, port, more) {
    super(name, description.logs);
    const listeners = ['EDGE', 'RELAY', 'ADMIN'].map((listener, place) => [`RDS_${listener}_ADDR`, `127.0.0.1:${port + place}`]);
    this.environment = { ...originEnvironment(description), ...Object.fromEntries(listeners), ...more };
    if (description.edge === undefined) delete this.environment.RDS_EDGE_URL; // Without an edge there is no receiver for key and tag updates.
    this.program = description.origin_bin;
    this.edge = `http://127.0.0.1:${port}`;
    this.relay = `http://127.0.0.1:${port + 1}`;
    this.admin = `http://127.0.0.1:${port + 2}`;
    this.token = description.admin_token;
  }

  start() {
    this.run(this.program, ['serve'], { env: this.environment });
  }

  isReady() {
    return this.operate('/ready').then(({ status }) => status === 200, () => false);
  }

  /** A request with a key, signed as the edge signs the requests that it forwards. `principal` is `{id, org_id, plan}`. */
  ask(principal, method, target, body = '') {
    const [name, secret] = this.environment.RDS_EDGE_ASSERTION_KEYS.split(':');
    const [seconds, nonce] = [Math.floor(Date.now() / 1000), randomBytes(16).toString('hex')];
    const caller = JSON.stringify({ kind: 'key', ...principal });
    const covered = ['v1', method, target, seconds, nonce, createHash('sha256').update(body).digest('hex'), caller].join('\n');
    const signature = createHmac('sha256', Buffer.from(secret, 'hex')).update(covered).digest('hex');
    const assertion = ['v1', name, seconds, nonce, signature].join(';');
    const headers = { 'x-service-assertion': assertion, 'x-service-principal': caller, ...(body && { 'content-type': 'application/json' }) };
    return request(this.edge, target, { method, headers, body: body || undefined, timeout: 5000 });
  }

  /** A request to its admin listener. */
  operate(target, { method = 'GET', body, timeout = 5000 } = {}) {
    return request(this.admin, target, { method, body, timeout, headers: { authorization: `Bearer ${this.token}` } });
  }
}

/** Postgres and both origins, with a record of the faults. */
export class Cluster {
  constructor(description, port, more) {
    this.postgres = new Postgres(description);
    this.origins = ['origin-a', 'origin-b'].map((name, place) => new Origin(name, description, port + place * 3, more));
    /** `{what, from, to}`, by `performance.now()`. */
    this.faults = [];
  }

  async start() {
    for (const origin of this.origins) origin.start();
    await this.whole();
  }

  /** Restarts the processes that ended, and waits until everything answers. */
  async whole() {
    if (!this.postgres.isRunning) await this.postgres.start();
    for (const origin of this.origins) if (!origin.isRunning) origin.start();
    for (const origin of this.origins) await until(`${origin.name} is ready`, BACK_SECONDS, () => origin.isReady());
  }

  /** Runs one fault, records its time, and repairs it. */
  async suffer(what, act) {
    const fault = { what, from: performance.now(), to: Infinity };
    this.faults.push(fault);
    await act();
    await this.whole();
    fault.to = performance.now();
  }

  /** The faults by name. Each takes a `Dice` for its random choices. */
  faultsByName() {
    const { postgres, origins } = this;
    const [a, b] = origins;
    return {
      'origin a is killed': () => a.end('SIGKILL'),
      'origin b is killed': () => b.end('SIGKILL'),
      'both origins are killed': () => Promise.all([a.end('SIGKILL'), b.end('SIGKILL')]),
      'origin a is told to stop': () => a.end('SIGTERM'),
      'origin b freezes': async (dice) => {
        b.signal('SIGSTOP');
        await sleep(dice.between(500, 4000));
        b.signal('SIGCONT');
      },
      'Postgres stops at once': async (dice) => {
        await postgres.crash();
        await sleep(dice.between(0, 800));
      },
      'Postgres and an origin stop at once': (dice) => Promise.all([postgres.crash(), dice.pick(origins).end('SIGKILL')]),
      'every connection is cut, again and again': async (dice) => {
        for (let times = dice.between(3, 8); times > 0; times -= 1) {
          await postgres.ask("select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()");
          await sleep(dice.between(20, 300));
        }
      },
    };
  }

  /** Advances the service's clock in both origins, because each process has its own. */
  async advance(seconds) {
    const body = JSON.stringify({ advance_seconds: seconds });
    for (const origin of this.origins) await origin.operate('/clock', { method: 'PUT', body });
  }

  async stop() {
    for (const origin of this.origins) await origin.end('SIGTERM');
    await this.postgres.end('SIGINT');
  }

  /** The last lines of every process's log. */
  lastWords() {
    const tail = ({ name, log }) => `${name}:\n${readFileSync(log.path, 'utf8').split('\n').slice(-15).join('\n')}`;
    return [this.postgres, ...this.origins].map(tail).join('\n');
  }
}
