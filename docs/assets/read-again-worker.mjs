// Reads a score again, in a worker: its content security policy lets it send requests to the endpoints that the user named, and the page's
// does not.

let parts;
let stopping;

/** Loads and compiles the verifier once. A failure is not remembered, so the next attempt loads it again. */
function loaded({ glue, module, loop }) {
  parts ??= Promise.all([import(glue), import(loop)])
    .then(async ([verifier, { readAgain }]) => {
      await verifier.default({ module_or_path: new URL(module, location.href) });
      return (...rest) => readAgain(verifier.ReadAgain, ...rest);
    })
    .catch((fault) => {
      parts = undefined;
      throw new Error(`The verifier could not be loaded: ${fault.message}`);
    });
  return parts;
}

addEventListener('message', async ({ data: { run, files, answer, endpoints } }) => {
  // A new run, or the wish to stop, ends the run before it.
  stopping?.abort();
  stopping = new AbortController();
  const { signal } = stopping;
  try {
    const readAgain = await loaded(files);
    if (!endpoints) return;
    const report = await readAgain(answer, endpoints, { signal, onProgress: (progress) => postMessage({ run, progress }) });
    postMessage({ run, report });
  } catch (fault) {
    postMessage({ run, fault: fault.message });
  }
});
