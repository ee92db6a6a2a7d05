// What the tests load: the built explorer, and single modules of its source.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { make } from '../build.mjs';
import { lists, references } from '../lists.mjs';

const here = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'explorer-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Builds the explorer once: its server, its files by name, and what reads them. */
export async function built() {
  const out = join(folder, 'built');
  const { files, loaded } = await make(out);
  const { explore } = await import(pathToFileURL(join(out, 'server.js')).href);
  const read = (asset) => readFileSync(join(out, 'assets', asset));
  const stored = { ASSETS: { fetch: async (url) => new Response(read(new URL(url).pathname.slice(1))) } };
  return { explore, files, loaded, stored, read };
}

let count = 0;

/** Imports what `code` exports; it may import modules of the source by `./src/…`. */
export async function bundled(code) {
  count += 1;
  const outfile = join(folder, `bundled-${count}.mjs`);
  await build({
    stdin: { contents: code, resolveDir: here, loader: 'tsx' },
    absWorkingDir: here,
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['browser', 'import'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'error',
    plugins: [
      {
        name: 'made',
        setup(made) {
          const facts = { 'rds:lists': lists, 'rds:references': references };
          made.onResolve({ filter: /^rds:/ }, ({ path }) => ({ path, namespace: 'made' }));
          made.onLoad({ filter: /.*/, namespace: 'made' }, ({ path }) => ({ contents: JSON.stringify(facts[path]()), loader: 'json' }));
          made.onLoad({ filter: /clients\/typescript\/src\// }, () => ({ contents: 'export {};' }));
        },
      },
    ],
  });
  return import(pathToFileURL(outfile).href);
}
