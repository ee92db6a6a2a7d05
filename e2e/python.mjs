// Python as somebody else's arithmetic: its standard library alone, where the machine has it.

import { execFileSync } from 'node:child_process';

/** Why a test that needs Python is skipped; false where there is one. */
export const noPython = !isThere() && 'there is no python3';

/** What a script prints that is given `input`. */
export const python = (script, input) => execFileSync('python3', ['-c', script], { input, encoding: 'utf8' }).trim();

function isThere() {
  try {
    execFileSync('python3', ['-c', 'import hashlib']);
    return true;
  } catch {
    return false;
  }
}
