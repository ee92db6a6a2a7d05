//! The folder of assets that the build script writes, which the Worker's deployment takes.

use rds_docs::{Asset, DOCUMENTS, Library, OPENAPI, OPENAPI_ETAG};
use rds_shared::wire::etag::EtagBuilder;
use rds_shared::wire::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The build script's output.
const FOLDER: &str = concat!(env!("OUT_DIR"), "/assets");

fn assets() -> impl Iterator<Item = &'static Asset> {
    DOCUMENTS.iter().map(|document| &document.asset).chain([&OPENAPI])
}

#[test]
fn each_asset_has_its_hash_as_name_and_is_the_same_as_the_compiled_content() {
    let library = Library::open();
    for asset in assets() {
        let content = fs::read(Path::new(FOLDER).join(asset.name)).unwrap();
        assert_eq!((hex(&Sha256::digest(&content)).as_str(), content.len()), (asset.name, asset.size));
        assert!(library.content(asset) == content, "{}", asset.name);
    }
}

#[test]
fn the_folder_has_no_other_file() {
    let there: BTreeSet<_> =
        fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(there, assets().map(|asset| asset.name.to_owned()).collect());
}

#[test]
fn the_openapi_document_is_the_committed_one_and_has_its_etag() {
    let committed = include_bytes!("../../openapi/openapi.json");
    assert!(Library::open().content(&OPENAPI) == committed);
    assert_eq!(OPENAPI_ETAG, EtagBuilder::of(committed).strong());
}

#[test]
fn the_etag_of_a_document_begins_as_the_hash_of_its_content() {
    for document in DOCUMENTS {
        let etag = document.etag.trim_matches('"');
        assert!(document.asset.name.starts_with(etag) && etag.len() == 24, "{}", document.name);
    }
}
