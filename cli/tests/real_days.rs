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

/// The seconds of a timestamp such as 2021-03-12T17:46:56Z, from an instant before all of the file's.
fn seconds(timestamp: &str) -> i64 {
    let field = |from: usize, to: usize| timestamp[from..to].parse::<i64>().unwrap();
    let (year, month, day) = (field(0, 4), field(5, 7), field(8, 10));
    let (year, month) = if month < 3 { (year - 1, month + 12) } else { (year, month) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * (month - 3) + 2) / 5 + day;
    ((days * 24 + field(11, 13)) * 60 + field(14, 16)) * 60 + field(17, 19)
}

/// The sell-out as it was, against half the units: holds of 600 s, and the first of each four buyers never pays.
struct SellOut {
    accepted: u64,
    refused: u64,
    paid: u64,
    expired: u64,
    open: u64,
}

/// The same without engine and clock: a list of holds, one arrival after the other.
fn sell_out(arrivals: &[i64]) -> SellOut {
    let mut out = SellOut { accepted: 0, refused: 0, paid: 0, expired: 0, open: 0 };
    let mut free = arrivals.len() / 2;
    let mut unpaid: Vec<i64> = Vec::new();
    for (number, &now) in arrivals.iter().enumerate() {
        let dead = unpaid.iter().filter(|&&since| since + 600 <= now).count();
        unpaid.drain(..dead);
        out.expired += dead as u64;
        free += dead;
        if free == 0 {
            out.refused += 1;
            continue;
        }
        free -= 1;
        out.accepted += 1;
        if number % 4 == 0 { unpaid.push(now) } else { out.paid += 1 }
    }
    assert_eq!(free, 0, "sold out to the last unit");
    out.open = unpaid.len() as u64;
    out
}

#[test]
fn a_real_sell_out_with_holds_that_end_by_its_own_clock() {
    let Some(sale) = shared_data("flash-sale-mooncats/rescues.csv") else { return };
    let mints = fs::read_to_string(&sale).unwrap();
    let arrivals: Vec<i64> = mints.lines().skip(1).map(|line| seconds(line.split(',').nth(1).unwrap())).collect();
    let wanted = sell_out(&arrivals);
    let args = [sale.to_str().unwrap(), "--order-column", "mint", "--time-column", "timestamp", "--hold", "600000"];
    let args = [&args[..], &["--stock-share", "0.5", "--pay-share", "0.75", "--late-share", "0"]].concat();

    let report = assert_sound(&args, "1");
    let orders = &report["orders"];
    assert_eq!((&orders["accepted"], &orders["refused"]), (&json!(wanted.accepted), &json!(wanted.refused)));
    let holds = json!({
        "paid_in_time": wanted.paid, "expired": wanted.expired, "paid_late_taken_again": 0, "paid_late_lost": 0,
        "paid_without_effect": 0, "open": wanted.open,
    });
    assert_eq!((&report["holds"], &report["refused_while_free"]), (&holds, &json!(0)));

    for threads in ["2", "8"] {
        let report = assert_sound(&args, threads);
        assert_eq!((&report["refused_while_free"], &report["units"]["available"]), (&json!(0), &json!(0)));
    }
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
