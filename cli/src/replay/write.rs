//! The files that `--write-stock` and `--write-decisions` leave.

use std::path::{Path, PathBuf, absolute};

use csv::{QuoteStyle, WriterBuilder};

use super::drive::{Entry, Told};
use super::options::Options;
use super::sale::{Sale, Skus};
use crate::failure::Failure;

/// Checks, before anything is read, that no result takes the place of an input or of the other result: it would
/// be lost, and the run would still end well.
pub fn refuse_to_overwrite(options: &Options, inputs: &[PathBuf]) -> Result<(), Failure> {
    let inputs = inputs.iter().chain(&options.stock);
    let mut taken: Vec<_> = inputs.filter_map(|path| Some((place(path)?, "a file that is read"))).collect();
    for (option, path) in [("--write-stock", &options.write_stock), ("--write-decisions", &options.write_decisions)] {
        let Some((path, place)) = path.as_ref().and_then(|path| Some((path, place(path)?))) else {
            continue;
        };
        if let Some(&(_, what)) = taken.iter().find(|(other, _)| *other == place) {
            return Err(Failure::Overwrites { path: path.clone(), option, what });
        }
        taken.push((place, "what --write-stock leaves"));
    }
    Ok(())
}

/// One path for all ways to name a file, which need not exist yet. A terminal, a pipe or /dev/null has none:
/// nothing in it can be overwritten.
fn place(path: &Path) -> Option<PathBuf> {
    if path.exists() && !path.is_file() {
        return None;
    }
    path.canonicalize().ok().or_else(|| {
        let path = absolute(path).ok()?;
        let folder = path.parent()?.canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    })
}

/// `sku,available`, sorted by the bytes of the SKU: can be read again with `--stock`.
pub fn stock(path: &Path, skus: &Skus, available: &[u64]) -> Result<(), Failure> {
    let mut rows: Vec<_> = skus.names().iter().zip(available).collect();
    rows.sort_unstable();
    let header = ["sku".into(), "available".into()];
    let rows = rows.into_iter().map(|(sku, available)| [sku.clone(), available.to_string()]);
    write(path, std::iter::once(header).chain(rows))
}

/// `id,accepted` or `id,refused` for each answer that decided something.
pub fn decisions(path: &Path, sale: &Sale, log: &[Entry]) -> Result<(), Failure> {
    let rows = log.iter().filter_map(|entry| {
        let decision = match entry.told {
            Told::New => "accepted",
            Told::Refused => "refused",
            _ => return None,
        };
        Some([sale.orders[entry.number].id.as_str(), decision])
    });
    write(path, rows)
}

fn write<F: AsRef<[u8]>>(path: &Path, rows: impl Iterator<Item = [F; 2]>) -> Result<(), Failure> {
    let mut rows = rows.peekable();
    // Who reads the file would take this character at its start for a byte order mark.
    let marked = rows.peek().is_some_and(|[first, _]| first.as_ref().starts_with("\u{feff}".as_bytes()));
    let quotes = if marked { QuoteStyle::Always } else { QuoteStyle::Necessary };
    let all = || -> csv::Result<()> {
        let mut file = WriterBuilder::new().quote_style(quotes).from_path(path)?;
        for row in rows {
            file.write_record(row)?;
        }
        Ok(file.flush()?)
    };
    all().map_err(|error| Failure::Unwritable { path: path.into(), source: error.into() })
}
