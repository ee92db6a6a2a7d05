// Everything that a stack wrote: files, tables, command lines, and the requests from the edge to the origin.

import { lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { join, relative } from 'node:path';
import pg from 'pg';

/** Every file under a folder: `{place, mode, bytes}`; `place` is the path relative to the folder. */
export function* files(folder, under = folder) {
  for (const name of readdirSync(under)) {
    const path = join(under, name);
    const entry = lstatSync(path, { throwIfNoEntry: false });
    if (entry?.isDirectory()) yield* files(folder, path);
    if (entry?.isFile()) yield { place: relative(folder, path), mode: entry.mode & 0o777, bytes: read(path) };
  }
}

/** The content of a file; empty if it is gone, because a database removes log files at any time. */
function read(path) {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}

/** Every column of every table, as text: `{place, bytes}`. */
export async function columns(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const quoted = (name) => client.escapeIdentifier(name);
    const { rows } = await client.query(
      "select table_name as table, column_name as column from information_schema.columns join information_schema.tables using (table_schema, table_name) where table_schema = 'public' and table_type = 'BASE TABLE'",
    );
    const found = [];
    for (const { table, column } of rows) {
      const values = await client.query(`select distinct ${quoted(column)}::text as value from ${quoted(table)} where ${quoted(column)} is not null`);
      found.push({ place: `${table}.${column}`, bytes: Buffer.from(values.rows.map(({ value }) => value).join('\n')) });
    }
    return found;
  } finally {
    await client.end();
  }
}

/** The command lines of processes, which every user of the machine can read. */
export function* commandLines(pids) {
  for (const pid of pids) {
    for (const one of [pid, ...children(pid)]) yield { place: `the command line of ${nameOf(one)}`, bytes: read(`/proc/${one}/cmdline`) };
  }
}

const children = (pid) => read(`/proc/${pid}/task/${pid}/children`).toString().trim().split(' ').filter(Boolean).map(Number);
const nameOf = (pid) => {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return `process ${pid}`;
  }
};

/** Starts a TCP proxy from `port` to `target` that records requests while `keeps` is true, and never responses. */
export async function recordingProxy(port, target) {
  const kept = [];
  const wire = { keeps: true, bytes: () => Buffer.concat(kept), close: () => server.close() };
  const server = createServer((client) => {
    const upstream = createConnection(target, '127.0.0.1');
    client.on('data', (piece) => wire.keeps && kept.push(piece));
    for (const [from, to] of [[client, upstream], [upstream, client]]) {
      from.on('error', () => {}).on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  await new Promise((listening) => server.listen(port, '127.0.0.1', listening));
  return wire;
}
