// Python as an independent implementation of hashes and arithmetic: only its standard library, if the machine has it.

import { execFileSync } from 'node:child_process';

/** The reason to skip tests that need Python; false if it is installed. */
export const pythonSkipReason = !isInstalled() && 'python3 is not installed';

/** The output of a script that gets `input` on standard input. */
export const python = (script, input) => execFileSync('python3', ['-c', script], { input, encoding: 'utf8' }).trim();

function isInstalled() {
  try {
    execFileSync('python3', ['-c', 'import hashlib']);
    return true;
  } catch {
    return false;
  }
}
