//! Custom sections of a WebAssembly module: names of functions weigh a twentieth of the bundle, and no runtime needs them.

use anyhow::{Context, Result, ensure};

/// The first bytes of a module: its magic number and version.
const HEAD: &[u8] = b"\0asm\x01\0\0\0";
/// The id of custom sections.
const CUSTOM: u8 = 0;
/// Custom sections that only people read.
const DROPPED: [&[u8]; 2] = [b"name", b"producers"];

/// The module without its sections for people. Source: WebAssembly Core Specification, section 5.5 "Modules".
pub fn without_names(module: &[u8]) -> Result<Vec<u8>> {
    let mut rest = module.strip_prefix(HEAD).context("this is no WebAssembly module")?;
    let mut out = HEAD.to_vec();
    while let Some((&id, after_id)) = rest.split_first() {
        let (size, behind) = leb128(after_id)?;
        let content = behind.get(..size).context("a section is longer than the module")?;
        let (section, next) = rest.split_at(rest.len() - behind.len() + size);
        let is_dropped = id == CUSTOM && {
            let (length, name) = leb128(content)?;
            let name = name.get(..length).context("a section's name is longer than the section")?;
            DROPPED.contains(&name)
        };
        if !is_dropped {
            out.extend_from_slice(section);
        }
        rest = next;
    }
    Ok(out)
}

/// Reads an unsigned LEB128 number of at most 32 bits; answers it and what follows.
fn leb128(bytes: &[u8]) -> Result<(usize, &[u8])> {
    let mut value: u64 = 0;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok((usize::try_from(value)?, bytes.get(at + 1..).unwrap_or_default()));
        }
    }
    ensure!(bytes.len() >= 5, "the module ends within a number");
    anyhow::bail!("a number has more than 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A section: its id, its length in LEB128, its content.
    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        assert!(length < 0x80);
        [&[id, length], content].concat()
    }

    #[test]
    fn what_people_read_goes_and_all_else_stays_in_its_order() {
        let (types, kept, code) = (section(1, b"types"), section(0, b"\x0ftarget_features+"), section(10, b"code"));
        let (names, makers) = (section(0, b"\x04namefunctions"), section(0, b"\x09producersrustc"));
        let module = [HEAD, &types, &names, &kept, &makers, &code].concat();
        assert_eq!(without_names(&module).unwrap(), [HEAD, &types, &kept, &code].concat());
        let long = [HEAD, &[10, 0x80, 0x01], &[7; 128]].concat();
        assert_eq!(without_names(&long).unwrap(), long);
    }

    #[test]
    fn what_is_no_module_or_ends_too_soon_is_refused() {
        for bad in [&b"<html>"[..], &[HEAD, &[10, 9, 1]].concat(), &[HEAD, &[0, 0xff, 0xff, 0xff, 0xff, 0xff]].concat()]
        {
            assert!(without_names(bad).is_err(), "{bad:?}");
        }
    }
}
