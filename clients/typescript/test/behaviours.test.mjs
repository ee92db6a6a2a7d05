// The behaviour suite, played with this library: the package that is installed, or the one built here.
import { run } from '../../behaviours/runner.mjs';

const [library, decisions] = await Promise.all([import('@risk-data/client'), import('@risk-data/client/decisions')]);
run(library, decisions);
