// A real node of a local chain, and proxies in front of it that stand for operators.

import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The program of the platform's package. */
function anvil() {
  const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch];
  const require = createRequire(import.meta.url);
  return join(dirname(require.resolve(`@foundry-rs/anvil-linux-${architecture}/package.json`)), 'bin', 'anvil');
}

/** Starts a node on a free port; resolves to its URL and a function that stops it. */
export const startNode = (...options) =>
  new Promise((resolve, reject) => {
    const words = ['--host', '127.0.0.1', '--port', '0', ...options];
    const child = spawn(anvil(), words, { stdio: ['ignore', 'pipe', 'inherit'] });
    const fail = (code) => reject(new Error(`anvil ended with ${code}`));
    child.once('exit', fail);
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += chunk;
      const [, port] = said.match(/Listening on 127\.0\.0\.1:(\d+)/) ?? [];
      if (!port) return;
      said = '';
      child.off('exit', fail);
      resolve({ url: `http://127.0.0.1:${port}`, stop: () => child.kill('SIGKILL') });
    });
  });

/** What the proxy makes of the node's text. */
async function change(proxy, asked, text) {
  if (!Array.isArray(asked)) return proxy.answer(asked, text);
  const answers = JSON.parse(text);
  for (const [place, answer] of answers.entries()) {
    const changed = await proxy.answer(asked.find(({ id }) => id === answer.id), JSON.stringify(answer));
    if (changed?.status && changed.status !== 200) return changed;
    if (changed) answers[place] = JSON.parse(changed.text);
  }
  return { text: JSON.stringify(answers) };
}

/**
 * A proxy in front of a node. `answer(request, text)` may change each answer: it returns `{ status, headers, text }`, or nothing to leave it
 * as it is. Each request of a batch is given to it alone; a status other than 200 is then the status of the whole batch.
 */
export async function startProxy(url, answer = () => undefined) {
  const proxy = { answer, requests: 0 };
  const server = createServer(async (request, response) => {
    proxy.requests += 1;
    let body = '';
    for await (const chunk of request) body += chunk;
    const from = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const text = await from.text();
    const changed = (await change(proxy, JSON.parse(body), text)) ?? { text };
    response.writeHead(changed.status ?? 200, { 'content-type': 'application/json', ...changed.headers });
    response.end(changed.text);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy.url = `http://127.0.0.1:${server.address().port}`;
  proxy.stop = () => server.close();
  return proxy;
}
