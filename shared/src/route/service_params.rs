//! The parameters of the service's own routes.

use super::param::Param;

/// Links to what pages load carry the file's fingerprint, so that browsers ask again when it changes.
pub(super) const FILE_VERSION: Param =
    Param::text("v", 64, "The file's fingerprint, as the pages' links carry it; any value gives the same file.")
        .or_ignored();
