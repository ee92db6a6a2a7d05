/** Calls `take(name, data, id)` for every frame until `signal` aborts. Begins after `cursor`, or with new events. */
export async function follow(base, key, take, { cursor, signal } = {}) {
  for (let wait = 1; !signal?.aborted; wait = Math.min(wait * 2, 60)) {
    try {
      const headers = { authorization: `Bearer ${key}`, ...(cursor && { 'last-event-id': cursor }) };
      const response = await fetch(`${base}/v1/events/stream`, { headers, signal });
      // A retry would not help.
      if (response.status === 401 || response.status === 403) throw new Refused(`the key is refused (${response.status})`);
      if (!response.ok) throw new Error(`status ${response.status}`);
      let text = '';
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
        const frames = (text + piece).split('\n\n');
        text = frames.pop();
        for (const frame of frames) {
          const field = (name) => frame.split('\n').find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
          const [id, name, data] = [field('id'), field('event'), JSON.parse(field('data') ?? 'null')];
          if (!name) continue;
          await take(name, data, id);
          // Move the cursor only after the work is done, so that unfinished events are delivered again.
          if (id) cursor = id;
          // The start of a new stream: if the connection breaks before its first event, resume from here.
          if (name === 'ready') cursor ??= data.replay.cursor;
          if (name === 'gap' && data.reason === 'replay_truncated') cursor = data.cursor;
          wait = 1;
        }
      }
    } catch (fault) {
      if (signal?.aborted) return;
      if (fault instanceof Refused) throw fault;
      console.warn(`the stream broke (${fault.message}); reconnecting in ${wait} s`);
    }
    await new Promise((resume) => setTimeout(resume, wait * 1000));
  }
}

class Refused extends Error {}
