// A separate stack for tests that stop parts of it: `cargo xtask up` as a child process.

import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Stack, until } from './stack.mjs';

/** The root of the repository under test. */
export const repository = dirname(dirname(fileURLToPath(import.meta.url)));

/** Time limit of a start with everything built already; a cold build happens before the tests. */
const START_TIMEOUT_SECONDS = 300;

/** Runs `up` with these options, with its own state folder and ports. Resolves when everything in the stack answers. */
export function up(...options) {
  const state = mkdtempSync(join(tmpdir(), 'rds-e2e-'));
  chmodSync(state, 0o755); // Postgres may run as another user, who needs access.
  return upIn(state, ...options);
}

/** The same with a state folder that exists, such as that of a stack that ended. */
export async function upIn(state, ...options) {
  const port = await freePorts(6);
  const started = performance.now();
  const child = xtask('up', '--state', state, '--port', String(port), ...options);
  const description = join(state, 'stack.json');
  await until('stack.json is written', START_TIMEOUT_SECONDS, () => {
    if (child.exitCode !== null) throw new Error(`up ended with ${child.exitCode}:\n${child.said}`);
    return existsSync(description);
  }).catch((error) => {
    child.kill('SIGTERM');
    throw new Error(child.said, { cause: error });
  });
  const stack = new Stack(JSON.parse(readFileSync(description, 'utf8')));
  return Object.assign(stack, {
    child,
    state,
    startMillis: performance.now() - started,
    /** Stops the stack with SIGINT, the signal of Ctrl-C; resolves to the exit code. */
    stop: async () => {
      const code = await ended(child, 'SIGINT');
      rmSync(state, { recursive: true, force: true });
      return code;
    },
  });
}

/** Starts a subcommand of `cargo xtask` as a child process; `said` accumulates its output. */
export function xtask(...words) {
  // The program itself instead of `cargo`, which does not forward signals.
  const program = process.env.RDS_XTASK ?? resolve(repository, process.env.CARGO_TARGET_DIR ?? 'target', 'debug/xtask');
  const environment = { ...process.env };
  for (const name of ['DATABASE_URL', 'RDS_STACK', 'NODE_TEST_CONTEXT']) delete environment[name];
  const child = spawn(program, words, { cwd: repository, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  child.said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (child.said += chunk));
  process.once('exit', () => child.kill('SIGTERM'));
  return child;
}

/** Resolves to what was started. If one of them fails, the others are stopped: a process that runs keeps the tests from ending. */
export async function allStarted(...starting) {
  const outcomes = await Promise.allSettled(starting);
  const failed = outcomes.find(({ status }) => status === 'rejected');
  if (!failed) return outcomes.map(({ value }) => value);
  await Promise.all(outcomes.map(({ value }) => value?.stop()));
  throw failed.reason;
}

/** Starts the origin of a stack as `up` does, with some variables changed. */
export function serve(stack, changed = {}) {
  const child = spawn(stack.origin_bin, ['serve'], { env: { ...originEnvironment(stack), ...changed }, stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

/** Starts another origin of a stack with listeners of its own, and with some variables changed. */
export async function serveBeside(stack, changed = {}) {
  const first = await freePorts(3);
  const [edge, relay, admin] = [0, 1, 2].map((offset) => `127.0.0.1:${first + offset}`);
  const child = serve(stack, { RDS_EDGE_ADDR: edge, RDS_RELAY_ADDR: relay, RDS_ADMIN_ADDR: admin, ...changed });
  return {
    child,
    /** The address of the relay listener. */
    relay,
    isReady: async () => (await fetch(`http://${relay}/ready`)).status === 200,
    /** The first metric whose line begins like this; undefined if there is none, or if the origin does not answer. */
    metric: async (start) => {
      const page = await fetch(`http://${admin}/metrics`, { headers: { authorization: `Bearer ${stack.admin_token}` } }).catch(() => undefined);
      const line = page && (await page.text()).split('\n').find((it) => it.startsWith(start));
      return line === undefined ? undefined : Number(line.split(' ').at(-1));
    },
    stop: () => ended(child, 'SIGKILL'),
  };
}

/** The environment variables that `up` gave the origin. */
export function originEnvironment(stack) {
  const lines = readFileSync(stack.origin_env, 'utf8').trim().split('\n');
  const pairs = lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
  return { PATH: process.env.PATH, ...Object.fromEntries(pairs) };
}

/** Sends a signal and resolves to the exit code, or to the signal's name. */
export async function ended(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode ?? child.signalCode;
  const end = new Promise((resolve) => child.once('exit', (code, by) => resolve(code ?? by)));
  child.kill(signal);
  return end;
}

/** Whether a process is running; a zombie counts as ended. */
export function isAlive(pid) {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** The first of `count` consecutive loopback ports that are free now. */
export async function freePorts(count) {
  for (let first = Number(process.env.RDS_PORTS ?? 31_000) + (process.pid % 100) * 16; first < 60_000; first += count) {
    const free = await Promise.all(Array.from({ length: count }, (_, offset) => isFree(first + offset)));
    if (free.every(Boolean)) return first;
  }
  throw new Error('no free ports');
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
