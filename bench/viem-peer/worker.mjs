// The peer of the edge's decision verification: the same five checks in JavaScript with viem, on the same runtime.
//
// The evidence is kept as text in the isolate's memory. Each request parses it, hashes the envelope, recovers the signer's address
// and looks it up. Bindings: EVIDENCE is the origin's answer to the edge, HEADERS are the headers of the edge's own answer.
import { recoverMessageAddress, sha256, stringToBytes } from 'viem';

const ID = /^\/v1\/graph\/decision\/([0-9a-f]{64})\/verify$/;
const encoder = new TextEncoder();
let headers;

export default {
  async fetch(request, env) {
    const { url } = request;
    const target = url.slice(url.indexOf('/', 8));
    if (target === '/ready') return new Response('{}');
    const [, id] = ID.exec(target) ?? [];
    if (id === undefined) return new Response(null, { status: 404 });
    headers ??= JSON.parse(env.HEADERS);
    const body = encoder.encode(JSON.stringify({ data: await verified(id, JSON.parse(env.EVIDENCE)) }));
    return new Response(body, { headers: { ...headers, age: '1', 'x-request-id': requestId() } });
  },
};

async function verified(id, { record, signers }) {
  const { envelope: text, signature } = record;
  const envelope = JSON.parse(text);
  const hash = sha256(stringToBytes(text)).slice(2);
  const address = await recoverMessageAddress({ message: hash, signature }).catch(() => '');
  const known = signers.filter((row) => row.address === envelope.signerAddress && row.key_id === envelope.keyId);
  const at = Date.parse(envelope.createdAt);
  const active = (row) => Date.parse(row.activated_at) <= at && (row.retired_at === null || at < Date.parse(row.retired_at));
  const { portfolioRef, snapshotId, verdict, methodologyScope, methodologyVersion, signerAddress, keyId, createdAt } = envelope;
  return {
    found: true,
    envelopeIntact: hash === id && canonical(envelope) === text,
    signatureValid: address.toLowerCase() === signerAddress,
    signerRecognized: known.length > 0,
    signerActiveAtIssuance: known.some(active),
    decision: { id, portfolioRef, snapshotId, verdict, methodologyScope, methodologyVersion, signerAddress, keyId, createdAt },
  };
}

/** RFC 8785 for an envelope's values: strings, integers, and one nested object. */
const canonical = (value) =>
  JSON.stringify(value, (_, part) =>
    part !== null && typeof part === 'object' ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );

function requestId() {
  let text = '';
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) text += byte.toString(16).padStart(2, '0');
  return text;
}
