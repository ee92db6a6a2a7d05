// Python tools: each set is installed with the versions and hashes of its `requirements.txt` into a virtual environment in the tool cache.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The folder of the tool cache, the same as in `cargo xtask`. */
function cache() {
  if (process.env.RDS_CACHE) return process.env.RDS_CACHE;
  if (process.getuid?.() === 0) return '/var/cache/rds';
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'rds');
}

/** The reason why Python tools cannot run here; undefined if they can. */
export function unable() {
  const { status } = spawnSync('python3', ['-c', 'import venv, ensurepip'], { stdio: 'ignore' });
  return status === 0 ? undefined : 'there is no python3 with venv on this machine';
}

/**
 * The folder of the environment `name` with the packages of `requirements`, installed on first use. Its interpreter is
 * `bin/python`. Start tools as modules: the scripts in `bin` contain the path of the folder that they were installed in.
 */
export function environment(name, requirements) {
  const lock = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
  const folder = join(cache(), `${name}-${lock}`);
  if (!existsSync(folder)) {
    mkdirSync(cache(), { recursive: true });
    // Installed under a temporary name and renamed, so that an interrupted installation is not used.
    const partial = mkdtempSync(join(cache(), `${name}-`));
    execute('python3', '-m', 'venv', partial);
    // Wheels only: building a source package would run its code.
    const checked = ['--no-deps', '--only-binary', ':all:', '--require-hashes', '--requirement', requirements];
    execute(join(partial, 'bin/python'), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...checked);
    renameSync(partial, folder);
  }
  return folder;
}

function execute(command, ...words) {
  const { status, stderr, error } = spawnSync(command, words, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${words.join(' ')}: ${error ?? stderr}`);
}
