// Builds the explorer: the server's module, and the files of the browser under names that are hashes of their content.
//
// usage: node build.mjs FOLDER [MODULES]
// Writes FOLDER/server.js and FOLDER/assets/SHA-256 for each file that browsers load. MODULES is the folder node_modules, by default the one here.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lists, references } from './lists.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const docs = (name) => readFileSync(join(here, '../docs/assets', name), 'utf8');
const TYPES = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml', png: 'image/png' };
const COMMON = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'warning',
};

/** Modules that are made here: their names begin with `rds:`. */
function made(modules) {
  return {
    name: 'made',
    setup(build) {
      build.onResolve({ filter: /^rds:/ }, ({ path }) => ({ path, namespace: 'made' }));
      build.onLoad({ filter: /.*/, namespace: 'made' }, ({ path }) => {
        const contents = modules[path.slice('rds:'.length)];
        return contents === undefined ? { errors: [{ text: `no module ${path}` }] } : contents;
      });
    },
  };
}

/** Leaves out what only browsers do: the stream, the verification of decisions, and scrolling. Each isolate reads the server's module when it starts. */
const browsersOnly = {
  name: 'browsers only',
  setup(build) {
    build.onResolve({ filter: /clients\/typescript\/src\/|^@tanstack\/virtual-core$/ }, ({ path }) => ({ path, namespace: 'left out' }));
    build.onLoad({ filter: /.*/, namespace: 'left out' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** The custom properties of the documentation's design, so that both have one design. */
function tokens() {
  const css = docs('site.css');
  const begin = css.indexOf(':root {');
  const end = css.indexOf('\n\n', begin);
  if (begin < 0 || end < 0) throw new Error('docs/assets/site.css does not begin with its custom properties');
  return css.slice(begin, end);
}

/** Builds into `folder` with the packages in `modules`; returns the table of files. */
export async function make(folder, modules = join(here, 'node_modules')) {
  const esbuild = createRequire(join(modules, 'index.js'))('esbuild');
  const build = (options) => esbuild.build({ ...COMMON, nodePaths: [modules], ...options });
  const assets = join(folder, 'assets');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(assets, { recursive: true });
  const json = (value) => ({ contents: JSON.stringify(value), loader: 'json' });
  const facts = { lists: json(lists()), references: json(references()) };

  const browser = await build({
    entryPoints: { browser: 'src/browser.tsx', style: 'src/style.css' },
    plugins: [made({ ...facts, 'tokens.css': { contents: tokens(), loader: 'css' } })],
    outdir: 'out',
    write: false,
    splitting: true,
    metafile: true,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    platform: 'browser',
  });
  const files = {};
  const add = (name, content) => {
    const bytes = Buffer.from(content);
    const asset = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(join(assets, asset), bytes);
    files[name] = { asset, size: bytes.length, type: TYPES[name.split('.').pop()] };
    return `/explorer/${name}`;
  };
  for (const { path, contents } of browser.outputFiles) add(basename(path), contents);
  const named = (name, content) => {
    const [stem, end] = name.split('.');
    return add(`${stem}-${createHash('sha256').update(content).digest('hex').slice(0, 8)}.${end}`, content);
  };
  const theme = named('theme.js', docs('theme.js'));
  const icon = named('icon.svg', docs('icon.svg'));
  const preview = named('preview.png', readFileSync(join(here, 'preview.png')));

  // The chunks that a page needs, so that the browser loads them at once.
  const outputs = Object.entries(browser.metafile.outputs).map(([path, output]) => [basename(path), output]);
  const of = new Map(outputs);
  const needed = (name, into = new Set()) => {
    if (into.has(name)) return into;
    into.add(name);
    for (const { path, kind } of of.get(name).imports) if (kind === 'import-statement') needed(basename(path), into);
    return into;
  };
  const entry = (source) => outputs.find(([, output]) => output.entryPoint === source)?.[0];
  const pages = {};
  for (const [name, { entryPoint }] of outputs) {
    if (!entryPoint?.startsWith('src/pages/')) continue;
    const page = relative('src/pages', entryPoint).replace(/\.tsx?$/, '');
    pages[page] = [...needed(name)].map((file) => `/explorer/${file}`);
  }
  const start = entry('src/browser.tsx');
  const loaded = {
    browser: `/explorer/${start}`,
    style: `/explorer/${entry('src/style.css')}`,
    theme,
    icon,
    preview,
    shared: [...needed(start)].slice(1).map((file) => `/explorer/${file}`),
    pages,
  };

  await build({
    entryPoints: ['src/server.tsx'],
    outfile: join(folder, 'server.js'),
    plugins: [browsersOnly, made({ ...facts, files: json({ files, loaded }) })],
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['worker', 'browser', 'import'],
  });
  return { files, loaded };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, modules] = process.argv.slice(2);
  if (!folder) throw new Error('usage: node build.mjs FOLDER [MODULES]');
  await make(resolve(folder), modules && resolve(modules));
}
