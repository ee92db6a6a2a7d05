// The suite's own origin server, kept on loopback, and made to keep its connections in order: two tests have it send a longer body than it says, whose
// rest would be read as the beginning of another test's answer.

import { Server, ServerResponse } from 'node:http';

const { listen } = Server.prototype;
Server.prototype.listen = function (port) {
  // workerd lets go of an idle connection after five seconds. Whoever asks has to be the first to do so.
  this.keepAliveTimeout = 60_000;
  return listen.call(this, port, '127.0.0.1');
};

const { end } = ServerResponse.prototype;
ServerResponse.prototype.end = function (body, ...rest) {
  const said = Number(this.getHeader('content-length'));
  return end.call(this, typeof body === 'string' && said < body.length ? body.slice(0, said) : body, ...rest);
};

await import('http-cache-tests/server/server.mjs');
