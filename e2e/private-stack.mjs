// A stack of a test's own, for stories that stop parts of it: `cargo xtask up` as a child process.

import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Stack, until } from './stack.mjs';

/** The clone that is tested. */
export const repository = dirname(dirname(fileURLToPath(import.meta.url)));

/** Minutes that a start may take where everything is built already; a cold build happens before the tests. */
const PATIENCE_SECONDS = 300;

/** `up` with these options, in a state folder and on ports of its own. Resolves when it says that everything answers. */
export async function up(...options) {
  const state = mkdtempSync(join(tmpdir(), 'rds-e2e-'));
  chmodSync(state, 0o755); // Postgres may run as another user, who has to get in.
  const port = await freePorts(5);
  const begun = performance.now();
  const child = xtask('up', '--state', state, '--port', String(port), ...options);
  const description = join(state, 'stack.json');
  await until('stack.json is written', PATIENCE_SECONDS, () => {
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
    startMillis: performance.now() - begun,
    /** Ends it as a person would, with Ctrl-C, and resolves to the exit code. */
    stop: async () => {
      const code = await ended(child, 'SIGINT');
      rmSync(state, { recursive: true, force: true });
      return code;
    },
  });
}

/** A verb of the project's own command line. What it prints gathers in `said`. */
export function xtask(...words) {
  // The program itself and not `cargo`, which would keep a signal to itself.
  const program = process.env.RDS_XTASK ?? resolve(repository, process.env.CARGO_TARGET_DIR ?? 'target', 'debug/xtask');
  const environment = { ...process.env };
  for (const name of ['DATABASE_URL', 'RDS_STACK', 'NODE_TEST_CONTEXT']) delete environment[name];
  const child = spawn(program, words, { cwd: repository, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  child.said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (child.said += chunk));
  process.once('exit', () => child.kill('SIGTERM'));
  return child;
}

/** The origin of a stack, started by hand as `up` would, with some variables changed. */
export function serve(stack, changed = {}) {
  const child = spawn(stack.origin_bin, ['serve'], { env: { ...originEnvironment(stack), ...changed }, stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

/** The environment that `up` gave its origin. */
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

/** Whether a process is there and running; one that ended and was not yet waited for counts as gone. */
export function isAlive(pid) {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** The first of `count` loopback ports in a row that are free now. */
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
