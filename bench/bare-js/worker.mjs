// A minimal JavaScript Worker: answers every request with the same bytes, BODY, without key, limit or cache. With OBJECTS it first calls
// an empty Durable Object. With ORIGIN_URL it forwards every request unchanged.
import { DurableObject } from 'cloudflare:workers';

const headers = { 'content-type': 'application/json' };
let body;

export default {
  async fetch(request, env) {
    const { url } = request;
    const target = url.slice(url.indexOf('/', 8));
    if (target === '/ready') return new Response('ready');
    if (env.ORIGIN_URL) return fetch(env.ORIGIN_URL + target, request);
    if (env.OBJECTS) await env.OBJECTS.getByName('one').nothing();
    body ??= new TextEncoder().encode(env.BODY);
    return new Response(body, { headers });
  },
};

export class Nothing extends DurableObject {
  nothing() {}
}
