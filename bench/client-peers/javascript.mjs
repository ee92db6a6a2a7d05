// `bench clients`: many requests for one page, with the TypeScript library or with bare `fetch`. Prints CPU time in microseconds.
//
//   node javascript.mjs PROJECT bare|library ADDRESS REQUESTS
//
// The library is installed in the folder PROJECT; the address is `HOST:PORT`.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , project, kind, address, requests] = process.argv;
const base = `http://${address}`;

/** Makes the function that requests the page once and returns its rows. */
async function asker() {
  if (kind === 'bare') {
    return async () => {
      const answer = await fetch(`${base}/v1/vaults?limit=20`);
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      return (await answer.json()).data;
    };
  }
  const found = createRequire(pathToFileURL(`${project}/`)).resolve('@risk-data/client');
  const { Client } = await import(pathToFileURL(found).href);
  const client = new Client({ baseUrl: base });
  return async () => (await client.vaults.list({ limit: 20 })).data;
}

const ask = await asker();
await ask();
const before = process.cpuUsage();
let rows = 0;
for (let n = 0; n < Number(requests); n++) rows += (await ask()).length;
const { user, system } = process.cpuUsage(before);
const all = process.cpuUsage();
console.log(JSON.stringify({ rows, requests: user + system, process: all.user + all.system }));
