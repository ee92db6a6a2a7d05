// A receiver of webhooks on loopback, with TLS under an authority that is made for the run.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import selfsigned from 'selfsigned';
import { until } from './stack.mjs';

const DAY = 86_400_000;
const usual = { keyType: 'ec', algorithm: 'sha256', notBeforeDate: new Date(Date.now() - DAY), notAfterDate: new Date(Date.now() + DAY) };
let made;

/** The authority: `{private, cert, file}`, the last a PEM file for `--webhook-ca`. */
export function authority() {
  made ??= (async () => {
    const extensions = [{ name: 'basicConstraints', cA: true, critical: true }, { name: 'keyUsage', keyCertSign: true, critical: true }];
    const pems = await selfsigned.generate([{ name: 'commonName', value: 'Receivers' }], { ...usual, extensions });
    const file = join(mkdtempSync(join(tmpdir(), 'rds-e2e-ca-')), 'ca.pem');
    writeFileSync(file, pems.cert);
    return { ...pems, file };
  })();
  return made;
}

/** A certificate of that authority for 127.0.0.1, as a server takes it: `{key, cert}`. */
export async function loopbackCertificate() {
  const { private: key, cert } = await authority();
  const extensions = [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }];
  const own = await selfsigned.generate([{ name: 'commonName', value: 'Receiver' }], { ...usual, extensions, ca: { key, cert } });
  return { key: own.private, cert: own.cert };
}

/** Keeps every request, by path, and answers as it is told. */
export class Receiver {
  #server;
  #seen = new Map();
  #answers = new Map();

  static async start() {
    const receiver = new Receiver();
    receiver.#server = createServer(await loopbackCertificate(), (request, response) => receiver.#take(request, response));
    await new Promise((listening) => receiver.#server.listen(0, '127.0.0.1', listening));
    return receiver;
  }

  #take(request, response) {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString('utf8');
      // Read when a test looks at it: what is no JSON then fails that test, and not the process.
      this.all(request.url).push({ headers: request.headers, body, get json() { return JSON.parse(body); } });
      response.writeHead(this.#answers.get(request.url) ?? 200).end();
    });
  }

  url(path) {
    return `https://127.0.0.1:${this.#server.address().port}${path}`;
  }

  /** From now on a path answers with this status. */
  answer(path, status) {
    this.#answers.set(path, status);
  }

  /** Everything that came to a path so far. */
  all(path) {
    if (!this.#seen.has(path)) this.#seen.set(path, []);
    return this.#seen.get(path);
  }

  /** The first request to a path that `wanted` takes, once it is there. */
  got(path, wanted = () => true) {
    return until(`a delivery to ${path}`, 20, () => this.all(path).find(wanted));
  }

  async stop() {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}
