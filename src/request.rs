//! What callers hand in: ids, SKUs and lines are checked here, before anything is touched.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use crate::layout::{MAX_KEY_BYTES, MAX_LINES};
use crate::record::RowLine;
use crate::{Invalid, Sku, Stockade, UnknownSku};

mod sealed {
    pub trait Sealed {}
    impl Sealed for str {}
    impl Sealed for String {}
    impl Sealed for crate::Sku {}
    impl<T: Sealed + ?Sized> Sealed for &T {}
}

/// What names a SKU: its name, or a [`Sku`] handle that spares the look-up.
pub trait SkuRef: sealed::Sealed {
    #[doc(hidden)]
    fn row(&self, engine: &Stockade) -> Result<u32, UnknownSku>;
    #[doc(hidden)]
    fn label(&self, engine: &Stockade) -> Box<str>;
}

impl SkuRef for str {
    fn row(&self, engine: &Stockade) -> Result<u32, UnknownSku> {
        engine.row_named(self).ok_or_else(|| UnknownSku { sku: self.into() })
    }

    fn label(&self, _: &Stockade) -> Box<str> {
        self.into()
    }
}

impl SkuRef for String {
    fn row(&self, engine: &Stockade) -> Result<u32, UnknownSku> {
        self.as_str().row(engine)
    }

    fn label(&self, engine: &Stockade) -> Box<str> {
        self.as_str().label(engine)
    }
}

impl SkuRef for Sku {
    #[inline]
    fn row(&self, engine: &Stockade) -> Result<u32, UnknownSku> {
        engine.row_of(*self)
    }

    fn label(&self, engine: &Stockade) -> Box<str> {
        match engine.row_of(*self) {
            Ok(row) => engine.protocol.rows.name(row),
            Err(unknown) => unknown.sku,
        }
    }
}

impl<T: SkuRef + ?Sized> SkuRef for &T {
    fn row(&self, engine: &Stockade) -> Result<u32, UnknownSku> {
        (**self).row(engine)
    }

    fn label(&self, engine: &Stockade) -> Box<str> {
        (**self).label(engine)
    }
}

/// An id or SKU that can be kept.
pub(crate) fn check_key(key: &str) -> Result<(), Invalid> {
    match key.len() {
        0 => Err(Invalid::EmptyKey),
        bytes if bytes > MAX_KEY_BYTES => Err(Invalid::KeyTooLong { bytes }),
        _ => Ok(()),
    }
}

/// Something for each line of an order. The common order of one line needs no allocation.
pub(crate) enum PerLine<T> {
    One([T; 1]),
    Many(Vec<T>),
}

/// The lines of a request: one for each row, in ascending row order.
pub(crate) type RowLines = PerLine<RowLine>;

impl<T: PartialEq> PartialEq for PerLine<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for PerLine<T> {}

impl<T> Deref for PerLine<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            PerLine::One(one) => one,
            PerLine::Many(many) => many,
        }
    }
}

impl<T> DerefMut for PerLine<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            PerLine::One(one) => one,
            PerLine::Many(many) => many,
        }
    }
}

impl<T> PerLine<T> {
    /// Something else for each line.
    #[inline]
    pub(crate) fn map<U>(&self, mut f: impl FnMut(&T) -> U) -> PerLine<U> {
        match self {
            PerLine::One([one]) => PerLine::One([f(one)]),
            PerLine::Many(many) => PerLine::Many(many.iter().map(f).collect()),
        }
    }
}

impl<T> FromIterator<T> for PerLine<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut items = items.into_iter();
        match (items.next(), items.next()) {
            (None, _) => PerLine::Many(Vec::new()),
            (Some(one), None) => PerLine::One([one]),
            (Some(first), Some(second)) => PerLine::Many([first, second].into_iter().chain(items).collect()),
        }
    }
}

impl Stockade {
    /// Checks the lines of a request and resolves their SKUs. What is invalid is told before what is unknown.
    #[inline(always)]
    pub(crate) fn resolve<S: SkuRef>(&self, lines: &[(S, u32)]) -> Result<Result<RowLines, UnknownSku>, Invalid> {
        if let Some((sku, _)) = lines.iter().find(|(_, quantity)| *quantity == 0) {
            return Err(Invalid::ZeroQuantity { sku: sku.label(self) });
        }
        match lines {
            [] => Err(Invalid::NoLines),
            [(sku, quantity)] => Ok(sku.row(self).map(|row| PerLine::One([RowLine { row, quantity: *quantity }]))),
            _ => self.resolve_many(lines),
        }
    }

    fn resolve_many<S: SkuRef>(&self, lines: &[(S, u32)]) -> Result<Result<RowLines, UnknownSku>, Invalid> {
        let resolved = lines.iter().map(|(sku, quantity)| Ok(RowLine { row: sku.row(self)?, quantity: *quantity }));
        let mut resolved: Vec<RowLine> = match resolved.collect() {
            Ok(lines) => lines,
            Err(unknown) => {
                self.check_sums_by_name(lines)?;
                return Ok(Err(unknown));
            }
        };
        resolved.sort_unstable();
        let mut summed: Vec<RowLine> = Vec::with_capacity(resolved.len());
        for line in resolved {
            match summed.last_mut() {
                Some(last) if last.row == line.row => {
                    let sum = last.quantity.checked_add(line.quantity);
                    let overflow = || Invalid::QuantityOverflow { sku: self.protocol.rows.name(line.row) };
                    last.quantity = sum.ok_or_else(overflow)?;
                }
                _ => summed.push(line),
            }
        }
        check_count(summed.len())?;
        Ok(Ok(PerLine::Many(summed)))
    }

    fn check_sums_by_name<S: SkuRef>(&self, lines: &[(S, u32)]) -> Result<(), Invalid> {
        let mut sums: BTreeMap<Box<str>, u32> = BTreeMap::new();
        for (sku, quantity) in lines {
            let label = sku.label(self);
            let sum = sums.get(&label).copied().unwrap_or(0).checked_add(*quantity);
            let sum = sum.ok_or_else(|| Invalid::QuantityOverflow { sku: label.clone() })?;
            sums.insert(label, sum);
        }
        check_count(sums.len())
    }
}

fn check_count(skus: usize) -> Result<(), Invalid> {
    if skus > MAX_LINES { Err(Invalid::TooManyLines { skus }) } else { Ok(()) }
}
