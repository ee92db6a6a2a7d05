// All vaults: the first page of the explorer.

import type { Stats, VaultRow } from '../types.js';
import type { Part } from '../api.js';
import { Facts, Optional, Percent, Score, Usd } from '../ui/basic.js';
import { VAULT_COLUMNS } from '../ui/columns.js';
import { count } from '../format.js';
import { listPage } from '../ui/list.js';

export default listPage<VaultRow, Part<{ data: Stats }>>({
  api: '/v1/vaults',
  title: 'Vaults',
  about: 'On-chain vaults with their risk scores from 0 (highest risk) to 10 (lowest) and tiers: Prime, Core and Edge.',
  noun: 'vaults',
  columns: VAULT_COLUMNS,
  rowKey: (row) => row.id,
  more: ({ api }) => api.optional('/v1/stats'),
  above: ({ more }) =>
    more && (
      <Optional part={more} what="totals">
        {({ data }) => (
          <Facts
            of={[
              ['Value locked', <Usd key="tvl" amount={data.tvl_usd} />],
              ['Vaults', `${count(data.vault_count)}, ${count(data.scored_vault_count)} scored`],
              ['Score, by value', <Score key="score" score={data.weighted_risk_score} />],
              ['APR, mean', <Percent key="apr" of={data.avg_apr} />],
              ['Chains and protocols', `${count(data.chain_count)} and ${count(data.protocol_count)}`],
            ]}
          />
        )}
      </Optional>
    ),
});
