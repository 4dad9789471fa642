//! Everything that ends a command early or with a bad verdict, and the exit status each gives.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use thiserror::Error;

use crate::replay::BadInput;

/// Why a command did not end with status 0.
#[derive(Debug, Error)]
pub enum Failure {
    /// A file that cannot be taken as it is.
    #[error(transparent)]
    Input(#[from] BadInput),
    /// The stock of one SKU, all returns included, is more than the engine can count.
    #[error(
        "SKU {sku:?} would receive {units} units, starting stock and returns together; a row takes at most {max}: \
         lower the stock",
        max = stockade::MAX_UNITS
    )]
    TooManyUnits {
        /// The SKU.
        sku: String,
        /// Units it would receive in all.
        units: u128,
    },
    /// A result that would take the place of a file that is read, or of another result.
    #[error("{}: {option} would overwrite {what}; name another file", path.display())]
    Overwrites {
        /// The file.
        path: PathBuf,
        /// The option that names it.
        option: &'static str,
        /// What would be lost.
        what: &'static str,
    },
    /// A result that could not be written.
    #[error("{}: cannot be written: {source}; name a file that can be", path.display())]
    Unwritable {
        /// The file that was to hold it.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The report that could not be printed.
    #[error("cannot print the report: {0}")]
    Unprintable(io::Error),
    /// The operating system has no thread left.
    #[error("cannot start a thread: {0}; ask for fewer")]
    NoThread(io::Error),
    /// More than the engine has room for.
    #[error("the engine has no room for so many {0}; send less in one run")]
    EngineFull(&'static str),
    /// The engine answered something that no caller of a sound engine should see.
    #[error("{0}")]
    Unsound(String),
}

impl Failure {
    /// The exit status promised in `--help`.
    pub fn status(&self) -> ExitCode {
        match self {
            Failure::Unsound(_) => ExitCode::from(1),
            _ => ExitCode::from(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_books_that_do_not_add_up_have_status_1() {
        let status = |failure: Failure| format!("{:?}", failure.status());
        assert_eq!(status(Failure::Unsound("x".into())), format!("{:?}", ExitCode::from(1)));
        assert_eq!(status(Failure::EngineFull("orders")), format!("{:?}", ExitCode::from(2)));
    }
}
