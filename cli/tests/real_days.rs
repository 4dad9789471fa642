//! Real data through the binary: with one thread it must agree with the sequential program in everything,
//! with several it must neither lose a unit nor promise one twice.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use serde_json::json;
use support::sequential::{Outcome, Rules, Start, replay};
use support::{assert_same, assert_sound, folder, path, shared_data};

/// Five digits and up to two letters.
fn is_product(sku: &str) -> bool {
    let (digits, letters) = sku.as_bytes().split_at(sku.len().min(5));
    digits.len() == 5
        && digits.iter().all(u8::is_ascii_digit)
        && letters.len() <= 2
        && letters.iter().all(u8::is_ascii_alphabetic)
}

const RETAIL: Rules<'_> = Rules {
    order: "InvoiceNo",
    sku: "StockCode",
    quantity: "Quantity",
    is_goods: is_product,
    return_prefix: Some("C"),
};

fn retail_args(days: &Path) -> Vec<&str> {
    let mut args = vec![days.to_str().unwrap()];
    args.extend(["--order-column", "InvoiceNo", "--sku-column", "StockCode", "--quantity-column", "Quantity"]);
    args.extend(["--sku-pattern", "[0-9]{5}[A-Za-z]{0,2}", "--return-prefix", "C"]);
    args
}

fn retail(days: &Path, hundredths: u64) -> Outcome {
    let mut files: Vec<PathBuf> = fs::read_dir(days).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "csv"));
    files.sort();
    replay(&files, &RETAIL, Start::Hundredths(hundredths))
}

#[test]
fn ten_real_days_are_reproduced_to_the_unit() {
    let Some(days) = shared_data("online-retail") else { return };
    for (share, hundredths) in [("0.5", 50), ("0.07", 7), ("1", 100)] {
        let args = [retail_args(&days), vec!["--stock-share", share]].concat();
        assert_same(&args, &retail(&days, hundredths));
    }
}

#[test]
fn ten_real_days_with_many_threads_lose_and_double_nothing() {
    let Some(days) = shared_data("online-retail") else { return };
    let args = [retail_args(&days), vec!["--stock-share", "0.5"]].concat();
    let wanted = retail(&days, 50).figures();
    for threads in ["2", "8", "32"] {
        let report = assert_sound(&args, threads);
        for figure in ["returns", "skus", "lines"] {
            assert_eq!(report[figure], wanted[figure]);
        }
        let orders = |answer: &str| report["orders"][answer].as_u64().unwrap();
        assert_eq!(orders("accepted") + orders("refused") + orders("empty"), 1_080);
    }
}

/// The units of the sale, but only half of them are there.
#[test]
fn a_real_sell_out_of_half_the_units_sells_half() {
    let Some(sale) = shared_data("flash-sale-mooncats/rescues.csv") else { return };
    let mints = fs::read_to_string(sale).unwrap();
    let rows = mints.lines().skip(1).map(|line| format!("{},cat,1\n", line.split(',').next().unwrap()));
    let orders = format!("order,sku,quantity\n{}", rows.collect::<String>());
    let folder = folder(&[("orders.csv", orders.as_bytes())]);

    let orders = path(&folder, "orders.csv");
    let report = assert_sound(&[&orders, "--stock-share", "0.5"], "8");
    assert_eq!((&report["orders"]["accepted"], &report["orders"]["refused"]), (&json!(12_720), &json!(12_720)));
    assert_eq!(report["skus_sold_out"], 1);
}

/// Stock from a file: the units in stock against everything that was ever ordered.
#[test]
fn northwind_starts_with_the_stock_of_its_products() {
    let Some(northwind) = shared_data("northwind") else { return };
    let mut products = csv::Reader::from_path(northwind.join("products.csv")).unwrap();
    let stock: BTreeMap<String, u64> = products
        .records()
        .map(Result::unwrap)
        .map(|product| (product[0].into(), product[3].parse().unwrap()))
        .collect();
    let rows = stock.iter().map(|(sku, available)| format!("{sku},{available}\n"));
    let folder = folder(&[("stock.csv", format!("sku,available\n{}", rows.collect::<String>()).as_bytes())]);

    let orders = northwind.join("order_details.csv");
    let stock_file = path(&folder, "stock.csv");
    let args = [orders.to_str().unwrap(), "--order-column", "order_id", "--sku-column", "product_id"];
    let args = [&args[..], &["--stock", &stock_file]].concat();
    let rules =
        Rules { order: "order_id", sku: "product_id", quantity: "quantity", is_goods: |_| true, return_prefix: None };
    assert_same(&args, &replay(from_ref(&orders), &rules, Start::Units(stock)));
    assert_sound(&args, "8");
}
