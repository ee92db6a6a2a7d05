// The vaults of a protocol, a curator or a chain: the first ones, and a link to all of them.

import type { JSX } from 'preact';
import { count } from '../format.js';
import type { VaultRow } from '../types.js';
import { Empty, Section } from './basic.js';
import { VAULT_COLUMNS } from './columns.js';
import { Table } from './table.js';

/** The section. `all` is the address of all of them. */
export function VaultsOf({ vaults, total, all, now }: { vaults: readonly VaultRow[]; total: number; all: string; now: string }): JSX.Element {
  return (
    <Section id="vaults" title="Vaults">
      {vaults.length === 0 ? (
        <Empty>There are no vaults.</Empty>
      ) : (
        <Table caption="Vaults" columns={VAULT_COLUMNS} rows={vaults} rowKey={({ id }) => id} now={now} />
      )}
      {total > vaults.length && (
        <p>
          <a href={all}>All {count(total)} vaults</a>
        </p>
      )}
    </Section>
  );
}
