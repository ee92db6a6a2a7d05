/** Like `fetch`, but waits and asks again where the answer says that it makes sense to. */
export async function ask(url, options, attempts = 5) {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, options);
    const passes = response.status === 429 || response.status === 503 || response.status === 504;
    if (!passes || attempt === attempts) return response;
    const seconds = Number(response.headers.get('retry-after') ?? 2 ** attempt);
    // A little later than the others who were told the same.
    await new Promise((resume) => setTimeout(resume, (seconds + Math.random()) * 1000));
  }
}
