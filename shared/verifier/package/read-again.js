// Sends to endpoints what the verifier asks of them, and gives it what comes back. The same file runs in browsers and in Node.
//
// The verifier decides what is asked, when it is asked again, and what an answer means. Nothing is sent anywhere but to the endpoints.

/** Requests that one endpoint is sent at the same time. */
const IN_FLIGHT = 4;
/** Milliseconds within which an answer must be complete. */
const TIMEOUT = 20_000;
/** Longest answer in bytes. */
const MAX_ANSWER = 4 * 1024 * 1024;

/** The URL of an endpoint, as the user typed it. */
function endpoint(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
    throw new Error(`${JSON.stringify(text)} is not the address of an endpoint: it must begin with https:// or http://.`);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new Error(`An endpoint must have https:// or http://, not ${url.protocol}//.`);
  if (url.username || url.password) throw new Error('The address of an endpoint must not contain a user name or password.');
  return url;
}

/** Names of the endpoints in reports: the host alone, because paths often contain keys. */
function names(urls) {
  const hosts = urls.map(({ host }) => host);
  return hosts.map((host, place) => {
    const before = hosts.slice(0, place).filter((other) => other === host).length;
    return before === 0 ? host : `${host} (${before + 1})`;
  });
}

/** The text of a response, which is read no further than the longest answer. */
async function textOf(response) {
  if (!response.body) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let [text, length] = ['', 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    length += value.length;
    if (length > MAX_ANSWER) {
      await reader.cancel();
      throw new RangeError('the answer is too large');
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Sends one request and records what came of it. Resolves to the milliseconds to wait before anything more is sent. */
async function ask(session, place, url, { id, body }) {
  let response;
  let text;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      // An endpoint that redirects would pass the request on to a host that the user did not name.
      redirect: 'error',
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      cache: 'no-store',
      signal: AbortSignal.timeout(TIMEOUT),
    });
    text = await textOf(response);
  } catch (fault) {
    const why = { TimeoutError: 'timeout', RangeError: 'too_large' }[fault?.name] ?? 'unreachable';
    return session.failed(place, id, why);
  }
  return session.answered(place, id, response.status, response.headers.get('retry-after') ?? undefined, text);
}

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

/** Asks one endpoint everything. */
async function converse(session, place, url, onProgress, signal) {
  const inFlight = new Set();
  let pause = 0;
  for (;;) {
    if (pause > 0) {
      await sleep(pause);
      pause = 0;
    }
    while (inFlight.size < IN_FLIGHT && !signal?.aborted) {
      const request = session.next(place);
      if (!request) break;
      const asked = ask(session, place, url, request).then((wait) => {
        pause = Math.max(pause, wait);
        inFlight.delete(asked);
        onProgress(session.progress());
      });
      inFlight.add(asked);
    }
    if (inFlight.size === 0) return;
    await Promise.race(inFlight);
  }
}

/**
 * Reads the inputs of a score on their chain again; resolves to the report.
 *
 * `ReadAgain` is the class of the compiled verifier. After `signal` nothing more is sent; what was not asked is then reported as not checked.
 */
export async function readAgain(ReadAgain, text, endpoints, { onProgress = () => {}, signal } = {}) {
  const urls = endpoints.map(endpoint);
  const session = new ReadAgain(text, names(urls));
  try {
    await Promise.all(urls.map((url, place) => converse(session, place, url, onProgress, signal)));
    return session.report();
  } finally {
    session.free();
  }
}
