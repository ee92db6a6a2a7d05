// Callers for machine.check.mjs: eight at a time, 800 requests, no two alike and none of a list that the edge holds itself, so that each is answered by an origin. Prints status and Cache-Status of each
// answer, or what failed. Variables: KEY, and CA, the certificate of the proxy's authority.

import { Agent, get } from 'node:https';

const REQUESTS = 800;
const AT_A_TIME = 8;
const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME, ca: process.env.CA });
let next = 0;

function answered(path) {
  return new Promise((resolve) => {
    const request = get({ host: 'localhost', path, agent, headers: { authorization: `Bearer ${process.env.KEY}` } }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(`${answer.statusCode} ${answer.headers['cache-status']}`));
      answer.once('error', ({ message }) => resolve(message));
    });
    request.once('error', ({ message }) => resolve(message));
  });
}

async function caller() {
  while (next < REQUESTS) console.log(await answered(`/v1/events?search=${(next += 1)}`));
}

await Promise.all(Array.from({ length: AT_A_TIME }, caller));
agent.destroy();
