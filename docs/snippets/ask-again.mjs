/** Like `fetch`, but waits and retries after 429, 503 and 504. */
export async function ask(url, options, attempts = 5) {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, options);
    const passes = response.status === 429 || response.status === 503 || response.status === 504;
    if (!passes || attempt === attempts) return response;
    const seconds = Number(response.headers.get('retry-after') ?? 2 ** attempt);
    // A random extra delay, so that clients do not all retry at the same moment.
    await new Promise((resume) => setTimeout(resume, (seconds + Math.random()) * 1000));
  }
}
