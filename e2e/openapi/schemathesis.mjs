// Runs schemathesis against a stack: requests generated from the document, and every response validated against it.
//
//   node openapi/schemathesis.mjs STATE/stack.json [--phases examples,coverage] [schemathesis' own options]
//
// All checks, every operation; `schemathesis/hooks.py` lists the exceptions with their reasons. The tool is installed with the
// versions of `schemathesis/requirements.txt` into the tool cache. Exits with the tool's exit code: 0 if nothing failed.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { mint } from '../operator.mjs';
import { Stack } from '../stack.mjs';
import { FILE } from './document.mjs';
import { environment, unable } from './python-tools.mjs';

export { unable };

const HERE = new URL('schemathesis/', import.meta.url);
const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', HERE));
/** Default phases, which take a few minutes. `fuzzing` takes longer and tries more unusual requests. */
const PHASES = 'examples,coverage';

/** The command line of schemathesis, which is installed on first use. */
function program() {
  return [join(environment('schemathesis', REQUIREMENTS), 'bin/python'), '-c', 'from schemathesis.cli import schemathesis; schemathesis()'];
}

/** Runs schemathesis against a stack. Resolves to its exit code and output: `{code, said}`. */
export async function run(stack, words = [], show = () => {}) {
  const { key } = await mint(stack, { org: 'schemathesis', plan: 'embedded', rpm: 1_000_000 });
  const folder = mkdtempSync(join(tmpdir(), 'rds-schemathesis-'));
  const phases = words.includes('--phases') ? [] : ['--phases', PHASES];
  // Without a database, so that a run does not depend on earlier runs.
  const database = words.includes('--generation-deterministic') ? [] : ['--generation-database', 'none'];
  const [python, ...start] = program();
  const all = [
    ...start, '--config-file', fileURLToPath(new URL('schemathesis.toml', HERE)), 'run', fileURLToPath(FILE),
    '--url', stack.edge, '--checks', 'all', '--continue-on-failure', '--no-color', ...phases, ...database, ...words,
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
