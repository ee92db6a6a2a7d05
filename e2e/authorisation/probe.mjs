// Sends one request unchanged, from a distinct address, to any of the listeners.

import { request as send } from 'node:http';
import { newCaller } from '../stack.mjs';

let addresses = 0;

/** A loopback address that no other probe uses: a listener without a proxy in front counts by the peer's address. */
function ownAddress() {
  addresses += 1;
  return `127.${64 + (process.pid % 128)}.${(addresses >> 8) & 0xff}.${1 + (addresses & 0x7f) * 2}`;
}

/** The response: `{status, headers, text, json}`. For an event stream, `text` is empty. */
export function probe(base, { method = 'GET', target, headers = {}, body }) {
  const { hostname, port } = new URL(base);
  const length = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  const options = { hostname, port, method, path: target, localAddress: ownAddress(), agent: false, timeout: 60_000 };
  return new Promise((resolve, reject) => {
    const request = send({ ...options, headers: { 'cf-connecting-ip': newCaller(), ...length, ...headers } }, (response) => {
      const pieces = [];
      const done = () => {
        const text = Buffer.concat(pieces).toString('utf8');
        resolve({ status: response.statusCode, headers: new Headers(headerPairs(response.rawHeaders)), text, json: parsed(text) });
      };
      if (response.headers['content-type']?.startsWith('text/event-stream')) {
        done();
        return request.destroy();
      }
      response.on('data', (piece) => pieces.push(piece)).on('end', done).on('error', reject);
    });
    request.on('error', reject).on('timeout', () => request.destroy(new Error(`no answer to ${method} ${target}`)));
    request.end(body);
  });
}

const headerPairs = (raw) => Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at], raw[2 * at + 1]]);

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
