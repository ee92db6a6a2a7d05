// All assets with their reviews.

import type { AssetRow } from '../types.js';
import { ASSET_COLUMNS } from '../ui/columns.js';
import { listPage } from '../ui/list.js';

export default listPage<AssetRow>({
  api: '/v1/assets/enriched',
  title: 'Assets',
  about: 'Tokens that vaults hold, with scores from reviews by published questions, and how much of the evidence is known.',
  noun: 'assets',
  columns: ASSET_COLUMNS,
  rowKey: (row) => row.asset_id,
});
