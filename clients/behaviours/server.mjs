// The scripted server of the behaviour suite, and a proxy that breaks connections. What it plays is described in README.md.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, request as forward } from 'node:http';
import { pathToFileURL } from 'node:url';
import { stackOf } from './stack.mjs';

const DOCUMENT = new URL('../../openapi/openapi.json', import.meta.url);

/** Starts the server; resolves to its addresses and a function that stops it. */
export async function start() {
  let script = { exchanges: [] };
  let seen = [];
  let examples;
  const sockets = new Set();
  /** Streams that break when a request for this path arrives. */
  const cuts = new Map();
  /** The running service; known once a script needs it. */
  let stack;

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://scripted');
    const body = Buffer.concat(await request.toArray().catch(() => []));
    const arrived = {
      method: request.method,
      path: decodeURIComponent(url.pathname),
      query: Object.fromEntries(url.searchParams),
      headers: request.headers,
      body: body.toString(),
    };
    seen.push(arrived);
    cuts.get(arrived.path)?.destroy();
    cuts.delete(arrived.path);
    const exchange = take(script.exchanges, arrived);
    if (!exchange) {
      response.writeHead(599).end(`nothing is scripted for ${request.method} ${request.url}`);
      return;
    }
    examples ??= exchange.example ? examplesOf(DOCUMENT) : undefined;
    if (exchange.forward) relay(stack, exchange.forward, request, body, response);
    else play(exchange, examples, response, cuts);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });

  const control = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    if (request.method === 'PUT' && request.url === '/script') {
      for (const socket of sockets) socket.destroy();
      const { exchanges = [] } = JSON.parse(body);
      script = { exchanges: exchanges.map((it) => ({ ...it, left: it.times === 'always' ? Infinity : (it.times ?? 1) })) };
      seen = [];
      cuts.clear();
      const isForwarded = exchanges.some((it) => it.forward);
      if (isForwarded) stack ??= await stackOf(process.env.RDS_STACK);
      const keys = isForwarded ? await stack.newKeys() : {};
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys }));
    } else if (request.method === 'GET' && request.url === '/seen') {
      const unplayed = script.exchanges.filter((it) => Number.isFinite(it.left)).reduce((sum, it) => sum + it.left, 0);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ requests: seen, unplayed }));
    } else {
      response.writeHead(404).end();
    }
  });

  const [address, controlAddress] = await Promise.all([server, control].map(listen));
  const stop = () => {
    for (const it of [server, control]) {
      it.close();
      it.closeAllConnections();
    }
  };
  return { address, control: controlAddress, stop };
}

function listen(server) {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`));
  });
}

/** The first exchange that is left and fits, with one play of it used up. */
function take(exchanges, { method, path, query }) {
  const fits = ({ left, when = {} }) =>
    left > 0 &&
    (when.method ?? method) === method &&
    (when.path ?? path) === path &&
    Object.entries(when.query ?? {}).every(([name, value]) => query[name] === value);
  const exchange = exchanges.find(fits);
  if (exchange) exchange.left -= 1;
  return exchange;
}

function play(exchange, examples, response, cuts) {
  const { fault, chunks, status = 200 } = exchange;
  if (fault === 'hang') return;
  if (fault === 'cut') {
    response.destroy();
    return;
  }
  const given = Object.entries(exchange.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  const headers = { 'x-request-id': randomBytes(16).toString('hex'), ...Object.fromEntries(given) };
  const json = exchange.example ? examples.get(exchange.example) : exchange.json;
  const text = exchange.text ?? (json === undefined ? '' : JSON.stringify(json));
  const type = chunks ? 'text/event-stream' : 'application/json';
  response.sendDate = false;
  response.writeHead(status, { 'content-type': type, ...headers });
  if (chunks) stream(chunks, response, cuts);
  else if (fault === 'cut-body') response.write(text.slice(0, text.length / 2), () => response.destroy());
  else response.end(text);
}

/**
 * Writes one chunk after the other, each after the one before it has left. `{cut: true}` breaks the connection at once; `{cut: '/path'}` when a request for
 * this path arrives, so that the client can tell that it has everything: Chromium drops what it has not read when a connection breaks.
 */
function stream([chunk, ...rest], response, cuts) {
  if (chunk === undefined) return;
  if (chunk.end) response.end();
  else if (typeof chunk.cut === 'string') cuts.set(chunk.cut, response);
  else if (chunk.cut) response.destroy();
  else response.write(chunk, () => setImmediate(stream, rest, response, cuts));
}

function relay(stack, { lose, cut_after: cutAfter = Infinity, meanwhile }, request, body, response) {
  const url = new URL(request.url, stack.edge);
  const headers = { ...request.headers, host: url.host };
  const outgoing = forward(url, { method: request.method, headers }, (answer) => {
    if (lose) {
      // The service has done the work; its answer never arrives.
      answer.resume().on('end', () => response.destroy());
      return;
    }
    response.writeHead(answer.statusCode, answer.headers);
    let left = cutAfter;
    let waiting = meanwhile;
    answer.on('data', (piece) => {
      const passed = piece.subarray(0, left);
      left -= piece.length;
      stack.passed(passed);
      response.write(passed, () => {
        if (left <= 0) response.destroy();
      });
      if (left <= 0) answer.destroy();
      if (waiting) {
        stack.act(waiting).catch((error) => response.destroy(error));
        waiting = undefined;
      }
    });
    answer.on('end', () => response.end());
    answer.on('error', () => response.destroy());
  });
  response.on('close', () => outgoing.destroy());
  outgoing.on('error', () => response.destroy());
  outgoing.end(body);
}

/** The recorded answer of each operation. */
function examplesOf(document) {
  const { paths } = JSON.parse(readFileSync(document, 'utf8'));
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  return new Map(operations.map((it) => [it.operationId, it.responses?.['200']?.content?.['application/json']?.example]));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { stop, ...started } = await start();
  console.log(JSON.stringify(started));
  process.stdin.resume().on('close', stop).on('end', stop);
}
