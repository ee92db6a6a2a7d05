// The third party at a pipe: the first line is what /v1/methodology says, each further line a vault's detail. Prints every difference,
// among the details and, where a folder of golden vectors is named, among those.

import { readFileSync } from 'node:fs';
import { golden } from './golden-inputs.mjs';
import { ThirdParty, differences } from './recompute.mjs';

const [methodology, ...details] = readFileSync(0, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const thirdParty = new ThirdParty(methodology.data);
const judged = details.map(({ data }) => data.vault).filter((vault) => vault.score_provenance !== null);
console.log(JSON.stringify({
  scored: judged.filter((vault) => vault.score_provenance.raw_score !== null).length,
  unscored: judged.filter((vault) => vault.score_provenance.raw_score === null).length,
  differences: judged.flatMap((vault) => differences(thirdParty, vault)),
  golden: process.argv[2] ? golden(thirdParty, process.argv[2]) : null,
}));
