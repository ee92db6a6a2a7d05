// The suite's own origin server, bound to loopback. In two tests it sends a body longer than its Content-Length; the excess is cut off here, because it
// would be read as the start of another test's response.

import { Server, ServerResponse } from 'node:http';

const { listen } = Server.prototype;
Server.prototype.listen = function (port) {
  // workerd closes an idle connection after five seconds. The server waits longer, so that it never closes a connection that the client is about to reuse.
  this.keepAliveTimeout = 60_000;
  return listen.call(this, port, '127.0.0.1');
};

const { end } = ServerResponse.prototype;
ServerResponse.prototype.end = function (body, ...rest) {
  const declared = Number(this.getHeader('content-length'));
  return end.call(this, typeof body === 'string' && declared < body.length ? body.slice(0, declared) : body, ...rest);
};

await import('http-cache-tests/server/server.mjs');
