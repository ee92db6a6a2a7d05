// A cache behind workerd's Cache API, which has no storage of its own outside Cloudflare.
//
// workerd turns cache.match/put/delete into GET/PUT/PURGE on this service. The body of a PUT is a complete
// HTTP response. The answer to a GET has `CF-Cache-Status: HIT` or MISS. Entries are kept in memory, up to
// a limit, for the lifetime in the stored response's Cache-Control.
//
// An entry is the unparsed message. A Headers object would take several times as much memory, and outside
// V8's heap, so that CAPACITY could not limit it.

const CAPACITY = 64 * 1024 * 1024;
const MAX_ENTRY = 8 * 1024 * 1024;
/** Memory of an entry in addition to its message and key, in bytes. */
const OVERHEAD = 512;

/** Entries by key, least recently used first. */
const entries = new Map();
let used = 0;

export default {
  async fetch(request) {
    const key = `${request.headers.get("cf-cache-namespace") ?? ""} ${request.url}`;
    switch (request.method) {
      case "GET":
        return match(key);
      case "PUT":
        return put(key, new Uint8Array(await request.arrayBuffer()));
      case "PURGE":
        return new Response(null, { status: remove(key) ? 200 : 404 });
      default:
        return new Response(null, { status: 405 });
    }
  },
};

function match(key) {
  const entry = entries.get(key);
  if (entry && entry.expires <= Date.now()) {
    remove(key);
  } else if (entry) {
    entries.delete(key);
    entries.set(key, entry);
    const { status, headers, body } = parse(entry.message);
    headers.set("CF-Cache-Status", "HIT");
    headers.set("Age", String(Math.floor((Date.now() - entry.stored) / 1000)));
    return new Response(body.length > 0 ? body : null, { status, headers });
  }
  return new Response(null, { status: 504, headers: { "CF-Cache-Status": "MISS" } });
}

function put(key, message) {
  const parsed = parse(message);
  const seconds = parsed ? lifetime(parsed) : 0;
  if (seconds <= 0) {
    return new Response(null, { status: 204 });
  }
  const size = message.length + 2 * key.length + OVERHEAD;
  if (size > MAX_ENTRY) {
    return new Response(null, { status: 413 });
  }
  remove(key);
  for (const oldest of entries.keys()) {
    if (used + size <= CAPACITY) break;
    remove(oldest);
  }
  const stored = Date.now();
  entries.set(key, { message, size, stored, expires: stored + seconds * 1000 });
  used += size;
  return new Response(null, { status: 204 });
}

function remove(key) {
  const entry = entries.get(key);
  if (!entry) return false;
  entries.delete(key);
  used -= entry.size;
  return true;
}

/** Seconds for which a shared cache may keep the response; 0 if it must not. */
function lifetime({ status, headers }) {
  const control = (headers.get("cache-control") ?? "").toLowerCase();
  if (/\b(no-store|private|no-cache)\b/.test(control)) return 0;
  if (status === 206 || headers.get("vary") === "*" || headers.has("set-cookie")) return 0;
  const shared = /\bs-maxage=(\d+)/.exec(control) ?? /\bmax-age=(\d+)/.exec(control);
  return shared ? Number(shared[1]) : 0;
}

/** Parses an HTTP/1.1 response message; null if it is invalid. */
function parse(message) {
  const end = endOfHeaders(message);
  if (end < 0) return null;
  const [first, ...lines] = new TextDecoder("latin1").decode(message.subarray(0, end)).split("\r\n");
  const status = Number(first.split(" ")[1]);
  if (!(status >= 200 && status <= 599)) return null;
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  // workerd keeps the header of the original body but sends the body without transfer encoding.
  headers.delete("transfer-encoding");
  return { status, headers, body: message.subarray(end + 4) };
}

/** Index of the CRLF CRLF after the headers; -1 if there is none. */
function endOfHeaders(bytes) {
  for (let at = 0; at + 4 <= bytes.length; at += 1) {
    if (bytes[at] === 13 && bytes[at + 1] === 10 && bytes[at + 2] === 13 && bytes[at + 3] === 10) return at;
  }
  return -1;
}
