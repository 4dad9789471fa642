//! Files as people have them: what is wrong is told with file and line and status 2, what is merely unusual is
//! taken.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs;

use support::{Ran, folder, path, stockade};

/// Replays these bytes as `orders.csv`.
fn replay(bytes: &[u8]) -> Ran {
    let folder = folder(&[("orders.csv", bytes)]);
    let args = ["--stock-share", "1", "--threads", "1", "--format", "json"];
    stockade(&[&["replay", &path(&folder, "orders.csv")], &args[..]].concat())
}

/// Status 2, nothing on stdout, and a message that has all these parts.
fn assert_refused(ran: &Ran, parts: &[&str]) {
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    for part in parts {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
}

/// The line of a header and one good row, after which each bad row stands on line 3.
fn with_row(row: &str) -> Vec<u8> {
    format!("order,sku,quantity\n1,A,2\n{row}").into()
}

#[test]
fn bad_rows() {
    let long = "x".repeat(256);
    let cases: [(&str, &[&str]); 14] = [
        ("2,A,1.5\n", &["\"1.5\" is not a whole number", "write digits only"]),
        ("2,A,\n", &["\"\" is not a whole number"]),
        ("2,A,+1\n", &["not a whole number"]),
        ("2,A, 1\n", &["not a whole number"]),
        ("2,A,99999999999\n", &["99999999999", "more than 4294967295"]),
        ("2,A,-99999999999\n", &["-99999999999", "more than 4294967295"]),
        (",A,1\n", &["the order id is empty", "fill it in"]),
        ("2,,1\n", &["the SKU is empty"]),
        (&format!("{long},A,1\n"), &["the order id has 256 bytes", "at most 255"]),
        (&format!("2,{long},1\n"), &["the SKU has 256 bytes", "at most 255"]),
        ("2,A\n", &["2 fields, but the header has 3"]),
        ("2,A,1,1\n", &["4 fields, but the header has 3"]),
        ("2,7\" plate,1\n", &["a quote inside a field that is not quoted"]),
        ("2,\"A\"B,1\n", &["a quoted field opens here, ends on line 3 and is followed by text"]),
    ];
    for (row, parts) in cases {
        let ran = replay(&with_row(row));
        assert_refused(&ran, parts);
        assert_refused(&ran, &["orders.csv:3: "]);
    }
}

#[test]
fn lines_that_are_left_out_are_checked_too() {
    let folder = folder(&[("orders.csv", &with_row("2,POST,1.5\n"))]);
    let args = ["replay", &path(&folder, "orders.csv"), "--stock-share", "1", "--sku-pattern", "[A-Z]"];
    assert_refused(&stockade(&args), &["orders.csv:3: ", "1.5"]);
}

#[test]
fn a_missing_column_is_told_with_those_that_are_there() {
    let ran = replay(b"InvoiceNo,StockCode,quantity\n1,A,2\n");
    assert_refused(&ran, &["orders.csv:1: no column \"order\"", "\"InvoiceNo\", \"StockCode\"", "--order-column"]);
    assert_refused(&replay(b"order;sku;quantity\n1;A;2\n"), &["\"order;sku;quantity\""]);
    assert_refused(&replay(b"order,sku,sku,quantity\n"), &["more than one column \"sku\""]);
    assert_refused(&replay(b""), &["orders.csv:1: the file is empty", "name the columns"]);
}

#[test]
fn a_quantity_of_0_or_less_is_left_out() {
    let report = replay(&with_row("2,A,-0\n3,A,0\n4,A,-7\n")).json();
    assert_eq!((&report["orders"]["accepted"], &report["orders"]["empty"]), (&1.into(), &3.into()));
    assert_eq!(report["lines"]["skipped_quantity"], 3);
}

#[test]
fn sums_of_a_sku_have_the_same_limit() {
    assert_refused(&replay(&with_row("2,A,4294967295\n2,A,1\n")), &["orders.csv:4: ", "add up to more than"]);
    assert_eq!(replay(&with_row("2,A,4294967295\n3,A,4294967295\n")).json()["units"]["sold"], 8_589_934_592_u64);
}

#[test]
fn an_order_has_at_most_4096_skus() {
    let order = |skus| -> String { (0..skus).map(|sku| format!("9,sku-{sku},1\n")).collect() };
    assert_eq!(replay(&with_row(&order(4_096))).json()["orders"]["accepted"], 2);
    assert_refused(&replay(&with_row(&order(4_097))), &["orders.csv:4099: ", "4096"]);
}

#[test]
fn a_row_has_a_limit_too() {
    let many: String = (0..17).map(|id| format!("x{id},A,4294967295\n")).collect();
    assert_refused(&replay(&with_row(&many)), &["SKU \"A\" would receive", "at most 68719476735"]);
}

#[test]
fn not_utf_8() {
    assert_refused(&replay(b"order,sku,quantity\r\n1,A,1\r\n2,\xa35,1\r\n"), &["orders.csv:3: not UTF-8", "iconv"]);
    assert_refused(&replay(b"\xff\xfeo\0r\0d\0e\0r\0"), &["orders.csv:1: not UTF-8"]);
}

#[test]
fn a_file_that_ends_in_the_middle_of_a_record() {
    assert_refused(&replay(&with_row("2,\"A,1\n3,A,1\n")), &["orders.csv:3: a quoted field opens here and never ends"]);
    assert_refused(&replay(&with_row("2,A")), &["orders.csv:3: 2 fields"]);
}

#[test]
fn paths_that_lead_nowhere() {
    let empty = folder(&[("README.md", b""), (".hidden.csv", b"")]);
    let args = |path: &str| stockade(&["replay", path, "--stock-share", "1"]);
    let name = empty.path().to_str().unwrap();
    assert_refused(&args(name), &[name, "no *.csv file", "name another folder"]);
    assert_refused(&args("no/such/file.csv"), &["no/such/file.csv: cannot be read", "check the path"]);
    assert_refused(&args("-"), &["-: no file has this name", "standard input is read as /dev/stdin"]);
}

#[test]
fn the_second_file_is_named_when_it_is_the_bad_one() {
    let folder = folder(&[("a.csv", &with_row("")), ("b.csv", &with_row("x,A,1.5\n"))]);
    let ran = stockade(&["replay", folder.path().to_str().unwrap(), "--stock-share", "1"]);
    assert_refused(&ran, &["b.csv:3: "]);
}

#[test]
fn bad_stock_files() {
    let cases: [(&[u8], &str); 6] = [
        (b"sku,units\nA,1\n", "stock.csv:1: no column \"available\""),
        (b"sku,available\nA,-1\n", "stock.csv:2: available \"-1\" is not a whole number"),
        (
            b"sku,available\nA,68719476736\n",
            "stock.csv:2: available \"68719476736\" is more than 68719476735, the most a row can receive",
        ),
        (b"sku,available\nA,1\nB,1\nA,1\n", "stock.csv:4: SKU \"A\" was on line 2 already"),
        (b"sku,available\n,1\n", "stock.csv:2: the SKU is empty"),
        (b"sku,available\nA\n", "stock.csv:2: 1 fields"),
    ];
    for (bytes, part) in cases {
        let folder = folder(&[("orders.csv", &with_row("")), ("stock.csv", bytes)]);
        let ran = stockade(&["replay", &path(&folder, "orders.csv"), "--stock", &path(&folder, "stock.csv")]);
        assert_refused(&ran, &[part]);
    }
}

#[test]
fn an_id_that_comes_back_with_other_lines_is_reported_and_left_out() {
    let rows = with_row("2,B,1\n1,A,2\n2,B,2\n1,A,2\n2,B,1\n");
    let ran = replay(&rows);
    let report = ran.json();
    assert_eq!(report["orders"]["accepted"], 2);
    assert_eq!((&report["orders"]["replayed"], &report["orders"]["conflicting"]), (&3.into(), &1.into()));
    assert_eq!((&report["conflicts"][0]["id"], &report["conflicts"][0]["line"]), (&"2".into(), &5.into()));
    assert!(ran.stderr.contains("orders.csv:5: order \"2\" was at "), "{}", ran.stderr);
    assert!(ran.stderr.contains("orders.csv:3 with other lines"), "{}", ran.stderr);
}

#[test]
fn many_conflicts_do_not_flood_the_terminal() {
    let rows: String = (0..25).map(|n| format!("2,B,1\n1,A,{}\n", 3 + n)).collect();
    let ran = replay(&with_row(&rows));
    assert_eq!(ran.json()["conflicts"].as_array().unwrap().len(), 25);
    assert_eq!(ran.stderr.lines().count(), 11, "{}", ran.stderr);
    assert!(ran.stderr.contains("and 15 more"), "{}", ran.stderr);
}

#[test]
fn byte_order_mark_line_ends_and_quotes_change_nothing() {
    let plain = "order,sku,quantity\n1,A,2\n1,B,1\n2,A,1\n";
    let variants = [
        plain.to_string(),
        format!("\u{feff}{plain}"),
        plain.replace('\n', "\r\n"),
        plain.trim_end().to_string(),
        plain.replace('\n', "\n\n"),
        plain.replace("A", "\"A\""),
        format!("\u{feff}{}", plain.replace('\n', "\r\n").trim_end()),
    ];
    let figures = |text: &String| {
        let mut report = replay(text.as_bytes()).json();
        report.as_object_mut().unwrap().retain(|figure, _| !figure.ends_with("_s"));
        report
    };
    for variant in &variants[1..] {
        assert_eq!(figures(variant), figures(&variants[0]), "{variant:?}");
    }
}

#[test]
fn results_that_cannot_be_written() {
    let folder = folder(&[("orders.csv", &with_row(""))]);
    let nowhere = path(&folder, "no/such/folder.csv");
    for option in ["--write-stock", "--write-decisions"] {
        let ran = stockade(&["replay", &path(&folder, "orders.csv"), "--stock-share", "1", option, &nowhere]);
        assert_refused(&ran, &[&nowhere, "cannot be written"]);
    }
    assert!(!fs::exists(nowhere).unwrap());
}

#[test]
fn an_input_is_never_overwritten() {
    let (orders, stock) = (with_row(""), b"sku,available\nA,9\n");
    let folder = folder(&[("orders.csv", &orders), ("stock.txt", stock)]);
    let days = folder.path().to_str().unwrap();
    let [file, start] = ["orders.csv", "stock.txt"].map(|name| path(&folder, name));
    let detour = format!("{days}/./orders.csv");
    for (input, result) in [(file.as_str(), &file), (&file, &detour), (&detour, &file), (days, &file), (&file, &start)]
    {
        for option in ["--write-stock", "--write-decisions"] {
            let ran = stockade(&["replay", input, "--stock", &start, option, result]);
            assert_refused(&ran, &[result, option, "would overwrite a file that is read; name another file"]);
        }
    }
    assert_eq!((fs::read(&file).unwrap(), fs::read(&start).unwrap()), (orders, stock.to_vec()));
}

#[cfg(unix)]
#[test]
fn a_link_to_an_input_is_the_input() {
    let folder = folder(&[("orders.csv", &with_row(""))]);
    let [file, link] = ["orders.csv", "link"].map(|name| path(&folder, name));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let ran = stockade(&["replay", &file, "--stock-share", "1", "--write-decisions", &link]);
    assert_refused(&ran, &[&link, "would overwrite a file that is read"]);
}

#[test]
fn two_results_need_two_files() {
    let folder = folder(&[("old.csv", b"old")]);
    let write = |stock: &str, decisions: &str| {
        stockade(&["replay", "--orders", "9", "--write-stock", stock, "--write-decisions", decisions])
    };
    for name in ["old.csv", "new.csv"] {
        let (one, detour) = (path(&folder, name), path(&folder, &format!("./{name}")));
        assert_refused(&write(&one, &detour), &[&detour, "would overwrite what --write-stock leaves", "name another"]);
    }
    assert_eq!(fs::read(folder.path().join("old.csv")).unwrap(), b"old");
    assert!(!fs::exists(folder.path().join("new.csv")).unwrap());
}

#[cfg(unix)]
#[test]
fn what_is_no_file_can_take_both_results() {
    let ran = stockade(&["replay", "--orders", "9", "--write-stock", "/dev/null", "--write-decisions", "/dev/null"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}
