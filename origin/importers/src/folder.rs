//! The folder of data sets: JSON Lines files, some compressed.

use super::ImportError;
use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

pub struct Folder {
    dir: PathBuf,
    names: Vec<String>,
}

impl Folder {
    /// Opens a folder and lists its files.
    pub fn open(dir: &Path) -> Result<Folder, ImportError> {
        let refused = |source| ImportError::Folder { dir: dir.to_owned(), source };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(refused)? {
            names.push(entry.map_err(refused)?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(Folder { dir: dir.to_owned(), names })
    }

    /// The files whose extension is that of a data set.
    pub fn data_sets(&self) -> Vec<String> {
        let is_data = |name: &&String| name.ends_with(".jsonl") || name.ends_with(".jsonl.gz");
        self.names.iter().filter(is_data).cloned().collect()
    }

    /// Whether the folder has a file.
    pub fn has(&self, file: &str) -> bool {
        self.names.iter().any(|name| name == file)
    }

    /// The rows of a file that is part of the program.
    pub fn embedded<T: DeserializeOwned>(file: &'static str, text: &'static str) -> Rows<T> {
        let text: Box<dyn Read + Send> = Box::new(text.as_bytes());
        Rows { file, text: BufReader::with_capacity(1 << 16, text), line: String::new(), row: 0, of: PhantomData }
    }

    /// The rows of a file, in order.
    pub fn rows<T: DeserializeOwned>(&self, file: &'static str) -> Result<Rows<T>, ImportError> {
        let opened = File::open(self.dir.join(file)).map_err(|source| match source.kind() {
            ErrorKind::NotFound => ImportError::Missing { file, dir: self.dir.clone() },
            _ => ImportError::Read { file, row: 0, source },
        })?;
        let text: Box<dyn Read + Send> =
            if file.ends_with(".gz") { Box::new(MultiGzDecoder::new(opened)) } else { Box::new(opened) };
        Ok(Rows { file, text: BufReader::with_capacity(1 << 16, text), line: String::new(), row: 0, of: PhantomData })
    }
}

/// Rows of a file with their numbers, counted from 1.
pub struct Rows<T> {
    file: &'static str,
    text: BufReader<Box<dyn Read + Send>>,
    line: String,
    row: u64,
    of: PhantomData<T>,
}

impl<T: DeserializeOwned> Iterator for Rows<T> {
    type Item = Result<(u64, T), ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.line.clear();
        match self.text.read_line(&mut self.line) {
            Ok(0) => None,
            Ok(_) => {
                self.row += 1;
                let (file, row) = (self.file, self.row);
                let parsed = serde_json::from_str(&self.line);
                Some(parsed.map(|value| (row, value)).map_err(|source| ImportError::Row { file, row, source }))
            }
            Err(source) => Some(Err(ImportError::Read { file: self.file, row: self.row, source })),
        }
    }
}
