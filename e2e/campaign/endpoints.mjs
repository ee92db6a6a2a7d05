// Webhook receivers whose behaviour can be changed, with a record of the deliveries.

import { createServer } from 'node:https';
import Stripe from 'stripe';
import { loopbackCertificate } from '../receiver.mjs';

const stripe = new Stripe('sk_test_unused');

/** The ways in which a receiver can misbehave. In the last three the response never ends. */
export const MANNERS = ['refuses', 'redirects', 'is gone', 'rate limits', 'breaks off', 'floods', 'hangs', 'drips'];

/** One server; each path is an endpoint. */
export class Endpoints {
  #manners = new Map();
  /** Connections whose response never ends. */
  #kept = new Set();
  /** `{path, eventId, type, title, body, attempt, answered, at}`; `answered` is whether the response was 200. */
  receipts = [];
  /** Paths of requests to URLs that are not endpoints. */
  strays = [];
  /** Paths of deliveries whose signature does not verify with the endpoint's secret. */
  forged = [];
  secrets = new Map();

  constructor(seen) {
    this.seen = seen;
  }

  async start() {
    this.server = createServer(await loopbackCertificate(), (request, response) => this.#take(request, response));
    await new Promise((listening) => this.server.listen(0, '127.0.0.1', listening));
  }

  url(path) {
    return `https://127.0.0.1:${this.server.address().port}${path}`;
  }

  /** Sets an endpoint's behaviour from now on; without a manner it accepts deliveries. */
  behave(path, manner) {
    this.#manners.set(path, manner);
  }

  /** Makes every endpoint accept deliveries from now on, and closes the connections whose response never ends. */
  heal() {
    this.#manners.clear();
    for (const socket of this.#kept) socket.destroy();
    this.#kept.clear();
  }

  #take(request, response) {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('error', () => {});
    response.on('error', () => {});
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString('utf8');
      const path = request.url;
      if (!this.secrets.has(path)) return void (this.strays.push(path), response.writeHead(200).end());
      const manner = this.#manners.get(path);
      const envelope = this.#verified(path, body, request.headers);
      const receipt = {
        path, body, eventId: envelope.event_id, type: envelope.event_type, title: envelope.data.title,
        attempt: Number(request.headers['x-service-delivery-attempt']), answered: manner === undefined || manner === 'floods', at: performance.now(),
      };
      this.receipts.push(receipt);
      this.#answer(manner, response);
      this.seen?.();
    });
  }

  #verified(path, body, headers) {
    try {
      return stripe.webhooks.constructEvent(body, headers['x-service-signature'], this.secrets.get(path));
    } catch {
      this.forged.push(path);
      return JSON.parse(body);
    }
  }

  #answer(manner, response) {
    const { socket } = response;
    if (MANNERS.indexOf(manner) >= MANNERS.length - 3) this.#kept.add(socket);
    switch (manner) {
      case undefined:
        return response.writeHead(200).end();
      case 'refuses':
        return response.writeHead(500).end('no');
      case 'redirects':
        return response.writeHead(307, { location: this.url('/elsewhere') }).end();
      case 'is gone':
        return response.writeHead(410).end();
      case 'rate limits':
        return response.writeHead(429, { 'retry-after': '1' }).end();
      case 'breaks off':
        return socket.destroy();
      case 'floods':
        return this.#flood(response.writeHead(200));
      case 'hangs':
        return undefined;
      case 'drips':
        return this.#drip(socket);
      default:
        throw new Error(`no such manner: ${manner}`);
    }
  }

  /** A body that never ends, after status 200. */
  #flood(response) {
    const more = () => {
      if (!response.destroyed && !response.writableEnded) response.write('x'.repeat(65_536), () => setImmediate(more));
    };
    more();
  }

  /** A response header that never ends, one byte at a time. */
  #drip(socket) {
    socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
    const drop = setInterval(() => (socket.destroyed ? clearInterval(drop) : socket.write('x')), 200);
    socket.once('close', () => clearInterval(drop));
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }
}
