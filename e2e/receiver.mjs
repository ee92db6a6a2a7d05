// A webhook receiver on loopback, with TLS under a certificate authority made for the run.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import selfsigned from 'selfsigned';
import { until } from './stack.mjs';

const DAY = 86_400_000;
const certificateOptions = { keyType: 'ec', algorithm: 'sha256', notBeforeDate: new Date(Date.now() - DAY), notAfterDate: new Date(Date.now() + DAY) };
let authorityPromise;

/** The certificate authority: `{private, cert, file}`; `file` is a PEM file for `--webhook-ca`. */
export function authority() {
  authorityPromise ??= (async () => {
    const extensions = [{ name: 'basicConstraints', cA: true, critical: true }, { name: 'keyUsage', keyCertSign: true, critical: true }];
    const pems = await selfsigned.generate([{ name: 'commonName', value: 'Receivers' }], { ...certificateOptions, extensions });
    const file = join(mkdtempSync(join(tmpdir(), 'rds-e2e-ca-')), 'ca.pem');
    writeFileSync(file, pems.cert);
    return { ...pems, file };
  })();
  return authorityPromise;
}

/** A certificate for 127.0.0.1, issued by the authority, as server options: `{key, cert}`. */
export async function loopbackCertificate() {
  const { private: key, cert } = await authority();
  const extensions = [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }];
  const server = await selfsigned.generate([{ name: 'commonName', value: 'Receiver' }], { ...certificateOptions, extensions, ca: { key, cert } });
  return { key: server.private, cert: server.cert };
}

/** Records every request by path; answers 200 or the status set for the path. */
export class Receiver {
  #server;
  #requests = new Map();
  #statuses = new Map();

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
      // Parsed lazily, so that an invalid body fails the test that reads it and not the process.
      this.all(request.url).push({ headers: request.headers, body, get json() { return JSON.parse(body); } });
      response.writeHead(this.#statuses.get(request.url) ?? 200).end();
    });
  }

  url(path) {
    return `https://127.0.0.1:${this.#server.address().port}${path}`;
  }

  /** Sets the status of later answers at a path. */
  answer(path, status) {
    this.#statuses.set(path, status);
  }

  /** All requests to a path so far. */
  all(path) {
    if (!this.#requests.has(path)) this.#requests.set(path, []);
    return this.#requests.get(path);
  }

  /** Waits for the first request to a path that satisfies `wanted`. */
  got(path, wanted = () => true) {
    return until(`a delivery to ${path}`, 20, () => this.all(path).find(wanted));
  }

  async stop() {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}
