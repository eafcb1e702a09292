//! Goal: the pages of `sassafras analyze --report` and `sassafras tile --report`, loaded by a real browser without a window: the script
//! runs, the list sorts, the modulo table is drawn, and there is something to see.
//!
//! Any Chromium that is on the path will do. It is no part of the pinned tools: where there is none, the step says so.

use crate::project::{Project, quiet, run};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What browsers are called.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// What the page is of: several kernels, in no order, with loops.
const KERNELS: &str = "sm_90/hash64.cubin";
/// The picture that is taken.
const SIZE: (u32, u32) = (1200, 1600);
/// A picture of so few bytes is of one colour.
const BLANK: usize = 20_000;
/// The column of the list that is sorted: instructions.
const COLUMN: usize = 2;

/// A browser, if there is one; else why not.
pub fn find() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    in_folders(std::env::split_paths(&path))
        .ok_or_else(|| format!("none of {} is on the path", BROWSERS.join(", ")))
}

fn in_folders(folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = folders.collect();
    let candidates = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    candidates.into_iter().find(|candidate| candidate.is_file())
}

/// Loads the page of a cubin of the corpus.
pub fn check(project: &Project, browser: &Path) -> Result<()> {
    run(&mut project.cargo(["build", "-p", "sassafras-cli"]))?;
    let out = tempfile::tempdir().context("a folder")?;
    let page = out.path().join("page.html");
    let mut analyze = project.command(project.target.join("debug/sassafras"));
    run(analyze.arg("analyze").arg(project.corpus().join(KERNELS)).arg("--report").arg(&page))?;
    let dom = |hash: &str| dom(project, browser, out.path(), &page, hash);
    let plain = dom("")?;
    ready(&plain)?;
    let unsorted = column(&plain);
    let mut sorted = unsorted.clone();
    sorted.sort_unstable();
    ensure!(sorted.len() > 2 && sorted != unsorted, "a list that needs no sorting: {unsorted:?}");
    let up = dom(&format!("#sort={COLUMN}"))?;
    ensure!(column(&up) == sorted, "sorted: {:?}", column(&up));
    let down = dom(&format!("#sort={COLUMN}-"))?;
    sorted.reverse();
    ensure!(column(&down) == sorted, "sorted the other way: {:?}", column(&down));

    picture(project, browser, out.path(), &page)?;

    // The built-in sample of tile programs: no script, but a drawing.
    let tiles = out.path().join("tile.html");
    let mut tile = project.command(project.target.join("debug/sassafras"));
    run(tile.arg("tile").arg("--report").arg(&tiles))?;
    drawn(&self::dom(project, browser, out.path(), &tiles, "")?)?;
    picture(project, browser, out.path(), &tiles)
}

/// Takes a picture of a page and looks whether anything is on it.
fn picture(project: &Project, browser: &Path, out: &Path, page: &Path) -> Result<()> {
    let picture = out.join("page.png");
    let mut screenshot = headless(project, browser, out);
    screenshot.arg(joined("--screenshot=", &picture)).arg(format!("--window-size={},{}", SIZE.0, SIZE.1));
    quiet(screenshot.arg(joined("file://", page)))?;
    visible(&fs::read(&picture).context("the browser wrote no picture")?)
}

/// The modulo table has boxes in it, each with a title.
fn drawn(dom: &str) -> Result<()> {
    let table =
        dom.split("<svg").find(|part| part.contains("class=\"modulo\"")).context("no modulo table")?;
    let table = table.split("</svg>").next().unwrap_or_default();
    let titles = table.matches("<title>").count();
    ensure!(titles > 1 && table.matches("<path").count() >= titles, "a modulo table without holds");
    Ok(())
}

fn headless(project: &Project, browser: &Path, out: &Path) -> Command {
    let mut command = project.command(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]);
    command.arg(joined("--user-data-dir=", &out.join("profile")));
    command
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut text = OsString::from(option);
    text.push(path);
    text
}

/// The page as it is when its script has run.
fn dom(project: &Project, browser: &Path, out: &Path, page: &Path, hash: &str) -> Result<String> {
    let mut command = headless(project, browser, out);
    let mut address = joined("file://", page);
    address.push(hash);
    let output = command.arg("--dump-dom").arg(address).output().context("the browser")?;
    ensure!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The script notes on the body that it came to its end.
fn ready(dom: &str) -> Result<()> {
    let body = dom.split("<body").nth(1).and_then(|rest| rest.split('>').next()).context("no body")?;
    if !body.contains("data-ready=\"yes\"") {
        bail!("the script did not come to its end");
    }
    ensure!(dom.matches("aria-sort=").count() > 5, "the headings of the list are no buttons");
    Ok(())
}

/// The numbers of the sorted column, in the order of the page.
fn column(dom: &str) -> Vec<u64> {
    let body = dom.split("<tbody>").nth(1).and_then(|rest| rest.split("</tbody>").next()).unwrap_or_default();
    let cell = |row: &str| {
        let text = row.split("<td").nth(COLUMN + 1)?.split('>').nth(1)?.split('<').next()?;
        text.parse().ok()
    };
    body.split("<tr").filter_map(cell).collect()
}

/// Whether a picture has the size that was asked for, and more than one colour.
fn visible(png: &[u8]) -> Result<()> {
    ensure!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "not a PNG");
    let number =
        |at: usize| png.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
    let size = (number(16).unwrap_or(0), number(20).unwrap_or(0));
    ensure!(size == SIZE, "the picture is {} by {}, not {} by {}", size.0, size.1, SIZE.0, SIZE.1);
    ensure!(png.len() > BLANK, "the picture is blank: {} bytes", png.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_in_order() {
        let dom = "<tbody><tr hidden><td class=\"name\"><a>x</a></td><td>sm_90</td><td class=\"r\">12</td></tr>\
                   <tr><td><a>y</a></td><td>sm_90</td><td class=\"r\">7</td></tr></tbody><tbody><tr></tr></tbody>";
        assert_eq!(column(dom), [12, 7]);
    }

    #[test]
    fn pages_whose_script_failed_are_noticed() {
        let sorted = "aria-sort=\"none\"".repeat(9);
        assert!(ready(&format!("<html><body data-ready=\"yes\">{sorted}</body>")).is_ok());
        assert!(ready(&format!("<html><body>{sorted}</body>")).is_err());
        assert!(ready("<html><body data-ready=\"yes\"></body>").is_err());
    }

    #[test]
    fn tables_without_holds_are_noticed() {
        let boxes = "<g><title>a</title><path></path></g><g><title>b</title><path></path></g>";
        let page = |inside: &str| format!("<svg class=\"modulo\">{inside}</svg>");
        assert!(drawn(&page(boxes)).is_ok());
        assert!(drawn(&page("<path></path>")).is_err() && drawn("<svg></svg>").is_err());
    }

    #[test]
    fn blank_pictures_are_noticed() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend(SIZE.0.to_be_bytes().into_iter().chain(SIZE.1.to_be_bytes()));
        assert!(visible(&png).is_err_and(|error| error.to_string().contains("blank")));
        png.resize(BLANK + 1, 7);
        assert!(visible(&png).is_ok());
        png[19] ^= 1;
        assert!(visible(&png).is_err() && visible(b"GIF").is_err());
    }

    #[test]
    fn browsers_are_found_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let folders = || [PathBuf::from("nowhere"), folder.path().to_owned()].into_iter();
        assert_eq!(in_folders(folders()), None);
        fs::write(folder.path().join("google-chrome"), "").expect("written");
        assert_eq!(in_folders(folders()), Some(folder.path().join("google-chrome")));
    }
}
