//! Mappings of subjects to bridges, sets of signers, vendors and clusters.

use rds_shared::graph::facts::{Reference, Trust};
use rds_shared::model::mapping::{MappingType, SubjectType};
use rds_shared::scoring::Ppm;
use rds_store::graph::facts::MappingRow;
use rds_store::{StoreError, decode_enum};
use std::collections::HashMap;

/// A subject of mappings: its type and id.
pub(super) type Subject<'s> = (SubjectType, &'s str);

/// All mappings, by subject.
pub(super) struct Mappings<'a>(HashMap<Subject<'a>, Vec<(MappingType, Reference)>>);

impl<'a> Mappings<'a> {
    /// Indexes `rows`. A subject may override its mapping's confidence and verification.
    pub(super) fn of(rows: &'a [MappingRow]) -> Result<Self, StoreError> {
        let mut mapped: HashMap<Subject<'a>, Vec<(MappingType, Reference)>> = HashMap::new();
        for row in rows {
            let mapping_type: MappingType = decode_enum("mapping.mapping_type", &row.mapping_type)?;
            for subject in row.applies_to.iter() {
                let confidence = subject.confidence.unwrap_or(*row.confidence);
                let verified = subject.verified.unwrap_or(row.verified);
                let trust = Trust { verified, confidence: Ppm(confidence.0.into()) };
                let reference = Reference { id: row.mapping_id.clone(), trust };
                mapped.entry((subject.subject_type, &subject.id)).or_default().push((mapping_type, reference));
            }
        }
        Ok(Mappings(mapped))
    }

    /// All references of one mapping type for these subjects.
    pub(super) fn references<'s>(
        &'s self,
        wanted: MappingType,
        subjects: impl IntoIterator<Item = Subject<'s>>,
    ) -> impl Iterator<Item = &'s Reference> {
        let mapped = subjects.into_iter().filter_map(|subject| self.0.get(&subject)).flatten();
        mapped.filter(move |(mapping_type, _)| *mapping_type == wanted).map(|(_, reference)| reference)
    }

    /// The ids of [`Self::references`], limited to mappings that are certain enough to reject a portfolio by themselves.
    pub(super) fn facts<'s>(
        &'s self,
        wanted: MappingType,
        subjects: impl IntoIterator<Item = Subject<'s>>,
    ) -> impl Iterator<Item = String> {
        self.references(wanted, subjects).filter(|reference| reference.trust.is_certain()).map(|it| it.id.clone())
    }
}
