//! The files that `--write-stock` and `--write-decisions` leave.

use std::path::Path;

use csv::Writer;

use super::drive::{Entry, Told};
use super::sale::{Sale, Skus};
use crate::failure::Failure;

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
    let all = || -> csv::Result<()> {
        let mut file = Writer::from_path(path)?;
        for row in rows {
            file.write_record(row)?;
        }
        Ok(file.flush()?)
    };
    all().map_err(|error| Failure::Unwritable { path: path.into(), source: error.into() })
}
