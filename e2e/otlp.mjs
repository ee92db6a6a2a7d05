// A small OpenTelemetry collector: takes traces over HTTP as JSON (from the edge) and as protobuf (from the origin), and keeps the spans.

import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** A span as the tests read it: ids in hexadecimal, `service` from its resource, attributes by key. */
export async function collector() {
  const spans = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    if (request.url !== '/v1/traces') return response.writeHead(404).end();
    const isJson = request.headers['content-type'] === 'application/json';
    spans.push(...(isJson ? ofJson(JSON.parse(body)) : ofProtobuf(body)));
    return response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    spans,
    url: `http://127.0.0.1:${server.address().port}`,
    /** The spans of a trace. */
    of: (trace) => spans.filter((span) => span.trace === trace),
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

function ofJson({ resourceSpans }) {
  const attributes = (given) => Object.fromEntries(given.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map(({ traceId, spanId, parentSpanId, name, kind, attributes: given }) => {
        const service = attributes(resource.attributes)['service.name'];
        return { trace: traceId, id: spanId, parent: parentSpanId, name, kind, service, attributes: attributes(given) };
      }),
    ),
  );
}

/** ExportTraceServiceRequest of opentelemetry-proto 1.x; the numbers are its fields. */
function ofProtobuf(body) {
  const text = (bytes) => bytes?.toString() ?? '';
  const hex = (bytes) => bytes?.toString('hex') ?? '';
  const value = (bytes) => {
    const { 1: [string] = [], 3: [number] = [] } = fields(bytes);
    return string === undefined ? Number(number) : text(string);
  };
  const attributes = (all = []) => Object.fromEntries(all.map(fields).map(({ 1: [key], 2: [given] }) => [text(key), value(given)]));
  return (fields(body)[1] ?? []).map(fields).flatMap(({ 1: [resource], 2: scopes }) => {
    const service = attributes(fields(resource)[1])['service.name'];
    return scopes.map(fields).flatMap(({ 2: spans = [] }) =>
      spans.map(fields).map(({ 1: [trace], 2: [id], 4: [parent] = [], 5: [name], 6: [kind], 9: given }) => {
        return { trace: hex(trace), id: hex(id), parent: hex(parent), name: text(name), kind: Number(kind), service, attributes: attributes(given) };
      }),
    );
  });
}

/** The fields of a protobuf message: values by number, in order. Varints are BigInts; everything else is bytes. */
function fields(bytes) {
  const found = {};
  let at = 0;
  const varint = () => {
    let [number, shift] = [0n, 0n];
    for (;;) {
      const byte = bytes[at];
      at += 1;
      number |= BigInt(byte & 127) << shift;
      if (byte < 128) return number;
      shift += 7n;
    }
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const lengths = { 1: () => 8, 2: () => Number(varint()), 5: () => 4 };
    const type = key & 7;
    let value;
    if (type === 0) {
      value = varint();
    } else {
      const length = lengths[type]();
      value = bytes.subarray(at, at + length);
      at += length;
    }
    (found[key >> 3] ??= []).push(value);
  }
  return found;
}
