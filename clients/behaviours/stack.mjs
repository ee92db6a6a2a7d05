// The running service behind the scripted server: what a behaviour does to it while an answer passes through.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mint, organisation } from '../../e2e/operator.mjs';
import { isAlive, serve } from '../../e2e/private-stack.mjs';
import { Stack, until } from '../../e2e/stack.mjs';

/** Time limit of each action. */
const SECONDS = 60;

/** The stack that this file describes (`stack.json`). If an earlier suite left it without an origin, one is started. */
export async function stackOf(file) {
  const stack = new Stack(JSON.parse(readFileSync(file, 'utf8')));
  let pid = stack.pids.origin;
  let published = 0;
  let passed = '';
  const isReady = async () => (await fetch(new URL('/ready', stack.relay))).status === 200;
  const startOrigin = async () => {
    const origin = serve(stack);
    // It ends with this process, and does not keep this process from ending.
    origin.unref();
    pid = origin.pid;
    await until('the origin is ready', SECONDS, isReady);
    if (!isAlive(pid)) throw new Error('another origin has the ports of this stack');
  };
  const restartOrigin = async (signal) => {
    process.kill(pid, signal);
    await until('the origin has ended', SECONDS, () => !isAlive(pid));
    await startOrigin();
  };
  const publish = async () => {
    published += 1;
    const { json } = await stack.operate('/clock');
    const event = { kind: 'event', observed_at: json.now, source: 'behaviours', event_key: randomUUID(), event_type: 'Notice' };
    const line = { ...event, severity: 'Info', title: `event ${published}`, occurred_at: json.now };
    const answer = await stack.operate('/ingest', { method: 'POST', body: `${JSON.stringify(line)}\n` });
    if (answer.status !== 200) throw new Error(`the event was refused: ${answer.text}`);
  };
  const actions = {
    publish,
    'publish and wait': async () => {
      await publish();
      await until(`event ${published} has passed`, SECONDS, () => passed.includes(`"event ${published}"`));
    },
    kill: () => restartOrigin('SIGKILL'),
    drain: () => restartOrigin('SIGTERM'),
  };
  if (!isAlive(pid)) await startOrigin();
  return Object.assign(stack, {
    /** Keys of a new organisation, by their plan. */
    newKeys: async () => {
      const org = organisation();
      const [data, decisioning] = await Promise.all(['data', 'decisioning'].map((plan) => mint(stack, { org, plan })));
      return { data: data.key, decisioning: decisioning.key };
    },
    /** Notes what has passed to the client. */
    passed: (piece) => {
      passed += piece;
    },
    /** Performs actions one after the other. Events are called `event 1`, `event 2` and so on in each behaviour. */
    act: async (names) => {
      published = 0;
      passed = '';
      for (const name of names) await actions[name]();
    },
  });
}
