// schemathesis against a running stack: requests made up from the document, and every answer held against it.
//
//   node openapi/schemathesis.mjs STATE/stack.json [--phases examples,coverage] [schemathesis' own options]
//
// All checks, every operation; what is not counted as a failure stands with its reason in `schemathesis/hooks.py`. The tool is
// installed, at the versions of `schemathesis/requirements.txt`, into the cache of tools. Ends with its exit code: 0 when nothing failed.

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { mint } from '../operator.mjs';
import { Stack } from '../stack.mjs';
import { FILE } from './document.mjs';

const HERE = new URL('schemathesis/', import.meta.url);
const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', HERE));
/** Without options: what is tried in some minutes. `fuzzing` looks longer, and finds what nobody thought of. */
const PHASES = 'examples,coverage';

/** Where tools are kept: as `cargo xtask` has it. */
function cache() {
  if (process.env.RDS_CACHE) return process.env.RDS_CACHE;
  if (process.getuid?.() === 0) return '/var/cache/rds';
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'rds');
}

/** Why it cannot run here; undefined when it can. */
export function unable() {
  const { status } = spawnSync('python3', ['-c', 'import venv, ensurepip'], { stdio: 'ignore' });
  return status === 0 ? undefined : 'there is no python3 with venv on this machine';
}

/** The program, installed when it is not there yet. */
function program() {
  const lock = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex').slice(0, 12);
  const folder = join(cache(), `schemathesis-${lock}`);
  if (!existsSync(folder)) {
    mkdirSync(cache(), { recursive: true });
    const half = mkdtempSync(join(cache(), 'schemathesis-'));
    installed('python3', '-m', 'venv', half);
    installed(join(half, 'bin/python'), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--requirement', REQUIREMENTS);
    renameSync(half, folder);
  }
  // Scripts of a virtual environment name the folder that it was made in; its interpreter finds its own.
  return [join(folder, 'bin/python'), '-c', 'from schemathesis.cli import schemathesis; schemathesis()'];
}

function installed(command, ...words) {
  const { status, stderr, error } = spawnSync(command, words, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${words.join(' ')}: ${error ?? stderr}`);
}

/** Runs it against a stack. Resolves to `{code, said}`. */
export async function run(stack, words = [], show = () => {}) {
  const { key } = await mint(stack, { org: 'schemathesis', plan: 'embedded', rpm: 1_000_000 });
  const folder = mkdtempSync(join(tmpdir(), 'rds-schemathesis-'));
  const phases = words.includes('--phases') ? [] : ['--phases', PHASES];
  // What it found before is no part of a run.
  const forgetful = words.includes('--generation-deterministic') ? [] : ['--generation-database', 'none'];
  const [python, ...start] = program();
  const all = [
    ...start, '--config-file', fileURLToPath(new URL('schemathesis.toml', HERE)), 'run', fileURLToPath(FILE),
    '--url', stack.edge, '--checks', 'all', '--continue-on-failure', '--no-color', ...phases, ...forgetful, ...words,
  ];
  const env = {
    ...process.env, RDS_KEY: key, RDS_INDEX_TOKEN: stack.index_token, SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: fileURLToPath(HERE),
    PYTHONDONTWRITEBYTECODE: '1',
  };
  try {
    const child = spawn(python, all, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        said += chunk;
        show(chunk);
      });
    }
    const code = await new Promise((resolve, reject) => child.once('error', reject).once('exit', (code, signal) => resolve(code ?? signal)));
    return { code, said };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , description, ...words] = process.argv;
  const reason = unable();
  if (!description || reason) {
    console.error(reason ?? 'usage: node openapi/schemathesis.mjs STATE/stack.json [options of schemathesis]');
    process.exit(2);
  }
  const { code } = await run(new Stack(JSON.parse(readFileSync(description, 'utf8'))), words, (chunk) => process.stdout.write(chunk));
  process.exit(Number(code) || (code === 0 ? 0 : 1));
}
