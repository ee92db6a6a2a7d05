// The least a JavaScript Worker can do: it answers every request with the same bytes, BODY, and asks for no key, counts nothing and keeps
// no copy. With OBJECTS it calls a Durable Object first, which does nothing. With ORIGIN_URL it hands every request on, as it came.
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
