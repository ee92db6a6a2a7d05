// Runs the operator's command line against a stack, and mints keys with it.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { originEnvironment } from './private-stack.mjs';

const run = promisify(execFile);

/** The JSON that a subcommand prints with `--json`. */
export async function verb(stack, ...words) {
  const { stdout } = await run(stack.origin_bin, [...words, '--json'], { env: originEnvironment(stack), timeout: 60_000 });
  return JSON.parse(stdout);
}

/** The error of a subcommand that must fail. */
export async function failing(stack, environment, ...words) {
  try {
    await run(stack.origin_bin, words, { env: environment, timeout: 20_000 });
  } catch (error) {
    return error;
  }
  throw new assert.AssertionError({ message: `\`${words.join(' ')}\` should fail` });
}

/** A subcommand as a child process. `said` accumulates its output, and `ended` resolves to its exit code. */
export function started(stack, ...words) {
  const child = spawn(stack.origin_bin, words, { env: originEnvironment(stack), stdio: ['ignore', 'pipe', 'pipe'] });
  child.said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (child.said += chunk));
  child.ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

/** A new organisation name. */
export const organisation = () => `e2e-${randomBytes(6).toString('hex')}`;

/** A new key: `{id, key, org}`, with the request header that presents it. */
export async function mint(stack, { org = organisation(), plan = 'data', rpm, shared = false } = {}) {
  const words = ['keys', 'mint', '--org', org, '--plan', plan];
  if (rpm) words.push('--rpm', String(rpm));
  if (shared) words.push('--shared');
  const { id, key } = await verb(stack, ...words);
  return { id, key, org, headers: bearer(key) };
}

/** Revokes a key; resolves when no edge accepts it any more. */
export const revoke = (stack, { id }) => verb(stack, 'keys', 'revoke', String(id));

/** The request header that presents a credential. */
export const bearer = (credential) => ({ authorization: `Bearer ${credential}` });
