//! Active vaults: the list, the scores in bulk, and the vaults of the protocol whose rewards are listed.

use super::encoding;
use super::listed::{BLOCK, ROW_NANOS};
use super::request::RowRequest;
use super::response::Response;
use crate::model::EncodedRow;
use crate::model::edited::EditedRow;
use crate::model::vault::{RewardedVault, VaultRow};
use crate::model::vault_score::VaultScoreRow;
use crate::pace::Pace;
use crate::replica::Row;
use crate::route::{self, routes};
use crate::select::vault_filters::{VaultFilter, VaultSort};
use crate::select::vaults::{VaultColumns, VaultIndex};
use crate::select::{Filling, Indexed, Renumbering, Selection};
use crate::wire::error::{ApiError, ErrorCode};
use crate::wire::page::PageRequest;
use crate::wire::record::Reader;
use crate::wire::time::Timestamp;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// About what it takes to find out whether a row was another one before.
const RELATE_NANOS: usize = 15;

/// The protocol with a separate list of vaults and their rewards.
pub const REWARDED_PROTOCOL: &str = "royco";

/// One vault: its row, and the list rows in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedVault {
    row: Row,
    /// The row of the list.
    pub listed: EncodedRow,
    /// The row of the bulk export of scores, made of the row of the list.
    scores: EditedRow,
    /// The vault with its rewards; only for vaults of [`REWARDED_PROTOCOL`].
    pub rewarded: Option<EncodedRow>,
}

impl EncodedVault {
    /// Encodes a vault.
    pub fn encode(
        columns: &VaultColumns<'_>,
        listed: &VaultRow,
        scores: &VaultScoreRow,
        rewarded: Option<&RewardedVault>,
    ) -> Result<Self, serde_json::Error> {
        let (mut content, id) = (Vec::new(), &listed.id);
        let synced = columns.last_synced_at;
        columns.write(&mut content);
        let (listed, scores) = (EncodedRow::encode(listed, synced)?, EncodedRow::encode(scores, synced)?);
        listed.write_record(&mut content);
        EditedRow::between(&listed, &scores).write_record(&mut content);
        content.push(u8::from(rewarded.is_some()));
        if let Some(rewarded) = rewarded {
            EncodedRow::encode(rewarded, synced)?.write_record(&mut content);
        }
        let row = encoding::row(id.as_str().as_bytes(), &content)?;
        Self::of(&row).ok_or_else(|| encoding::fault("an encoded vault cannot be read back"))
    }

    /// The vault that a row contains.
    pub fn of(row: &Row) -> Option<Self> {
        let mut reader = encoding::reader(row);
        let synced = VaultColumns::pass(&mut reader)?;
        Self::read(row, synced, reader)
    }

    /// Reads what follows the columns.
    fn read(row: &Row, synced: Option<Timestamp>, mut reader: Reader<'_>) -> Option<Self> {
        let listed = EncodedRow::read_record(&mut reader, synced)?;
        let scores = EditedRow::read_record(&mut reader, &listed, synced)?;
        let rewarded = if reader.flag()? { Some(EncodedRow::read_record(&mut reader, synced)?) } else { None };
        reader.is_at_end().then(|| EncodedVault { row: row.clone(), listed, scores, rewarded })
    }

    /// The row of the bulk export of scores.
    pub fn scores(&self) -> Option<EncodedRow> {
        // The edits were checked when the row was read, so there always is one.
        self.scores.of(&self.listed)
    }

    /// The vault's row in the family of vaults. Its key is the vault's id.
    pub fn row(&self) -> &Row {
        &self.row
    }
}

/// How `rows` are numbered after `earlier`, both in ascending order of keys. A row is unchanged if it is the same in memory.
fn renumbering(earlier: &[Row], rows: &[Row]) -> Renumbering {
    let mut left = (0u32..).zip(earlier).peekable();
    let numbered = rows.iter().map(|row| {
        if let Some((number, _)) = left.next_if(|(_, earlier)| earlier.is_same(row)) {
            return (Some(number), false);
        }
        while left.next_if(|(_, earlier)| earlier.key() < row.key()).is_some() {}
        match left.next_if(|(_, earlier)| earlier.key() == row.key()) {
            Some((number, earlier)) => (Some(number), !earlier.is_same(row)),
            None => (None, true),
        }
    });
    Renumbering::new(earlier.len(), numbered)
}

/// The active vaults, in ascending order of ids. Their rows are decoded when they are served.
#[derive(Debug, Clone)]
pub struct Vaults {
    rows: Arc<Vec<Row>>,
    index: VaultIndex,
}

impl Vaults {
    /// Indexes rows. The index of `previous` is continued, and its rows are not read again.
    pub(super) async fn read(rows: &Arc<Vec<Row>>, previous: Option<&Vaults>, pace: &Pace<'_>) -> Option<Self> {
        pace.step(rows.len() * RELATE_NANOS).await;
        let change = previous.map(|before| (before, renumbering(&before.rows, rows)));
        let continued = change.as_ref().and_then(|(before, change)| Some((before.index.after(change)?, change)));
        let (mut filling, changed) = match continued {
            Some((filling, change)) => (filling, change.changed_rows().collect()),
            None => (Filling::new(), (0u32..).take(rows.len()).collect::<Vec<u32>>()),
        };
        let mut index = VaultIndex::default();
        // An empty list has the same columns.
        index.add(&mut filling, &[]);
        for block in changed.chunks(BLOCK) {
            pace.step(block.len() * ROW_NANOS).await;
            let rows: Vec<Row> =
                block.iter().filter_map(|number| rows.get(*number as usize)).map(Row::unpacked).collect();
            let mut columns = Vec::with_capacity(rows.len());
            for row in &rows {
                let mut reader = encoding::reader(row);
                let of_row = VaultColumns::read(&mut reader)?;
                EncodedVault::read(row, of_row.last_synced_at, reader)?;
                columns.push(of_row);
            }
            filling.block(columns.len());
            index.add(&mut filling, &columns);
        }
        index.complete(filling.finish(pace).await);
        Some(Vaults { rows: Arc::clone(rows), index })
    }

    /// Row numbers of a page of the vaults that match `filter`, in the order of `sort`.
    pub fn select(&self, filter: &VaultFilter<'_>, sort: VaultSort, page: PageRequest) -> Selection {
        self.index.select(filter, sort, page)
    }

    /// Bytes of the index on the heap.
    pub fn index_bytes(&self) -> usize {
        self.index.heap_bytes()
    }

    /// The vaults of a selection.
    fn selected(&self, selection: &Selection) -> Result<Vec<EncodedVault>, ApiError> {
        let vault = |number: &u32| EncodedVault::of(&self.rows.get(*number as usize)?.unpacked());
        // Every row could be read when it was indexed.
        selection.rows.iter().map(vault).collect::<Option<_>>().ok_or_else(|| ErrorCode::InternalError.into())
    }

    /// `GET /v1/vaults`.
    pub(super) fn list(
        &self,
        (version, hidden): (i64, &[String]),
        request: RowRequest<'_, routes::VaultList>,
    ) -> Result<Response, ApiError> {
        self.page((version, hidden), request, |vault| Some(vault.listed.clone()))
    }

    /// `GET /v1/vaults/scores`.
    pub(super) fn scores(
        &self,
        (version, hidden): (i64, &[String]),
        request: RowRequest<'_, routes::VaultScores>,
    ) -> Result<Response, ApiError> {
        self.page((version, hidden), request, EncodedVault::scores)
    }

    fn page<R: route::Row>(
        &self,
        (version, hidden): (i64, &[String]),
        request: RowRequest<'_, R>,
        row_of: impl Fn(&EncodedVault) -> Option<EncodedRow>,
    ) -> Result<Response, ApiError> {
        let page = request.page()?;
        let query = request.query();
        let (filter, sort) = (VaultFilter::from_query(query), VaultSort::from_query(query));
        let selection = self.index.select_without(hidden, &filter, sort, page);
        let vaults = self.selected(&selection)?;
        let rows: Vec<EncodedRow> = vaults.iter().map(row_of).collect::<Option<_>>().ok_or(ErrorCode::InternalError)?;
        let rows: Vec<&EncodedRow> = rows.iter().collect();
        Ok(request.respond_page(version, &rows, page, selection.total))
    }

    /// `GET /v1/royco`: the active vaults of one protocol, each with its rewards, largest TVL first; an empty list if the protocol is not
    /// tracked.
    pub(super) fn rewarded(
        &self,
        (version, hidden): (i64, &[String]),
        request: RowRequest<'_, routes::Royco>,
    ) -> Result<Response, ApiError> {
        let page = request.page()?;
        let wanted: [String; 1] = [REWARDED_PROTOCOL.to_owned()];
        let filter = VaultFilter { protocols: &wanted, ..VaultFilter::default() };
        let selection = self.index.select_without(hidden, &filter, VaultSort::default(), page);
        let vaults = self.selected(&selection)?;
        let rows: Vec<&EncodedRow> = vaults.iter().filter_map(|vault| vault.rewarded.as_ref()).collect();
        Ok(request.respond_page(version, &rows, page, selection.total))
    }
}
