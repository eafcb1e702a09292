//! Goal: the page of `sassafras analyze --report`, loaded by a real browser without a window: its script runs, the list sorts, and
//! there is something to see.
//!
//! Any Chromium that is on the path will do. It is no part of the pinned tools: where there is none, the step says so.

use crate::project::{Project, run};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What browsers are called.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// The kernels of the page: several, so that there is something to sort, and with loops.
const KERNELS: [&str; 4] =
    ["sm_90/nbody.cubin", "sm_90/sgemm_tile64.cubin", "sm_90/reduce.cubin", "sm_90/scan.cubin"];
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

/// Loads pages of kernels of the corpus.
pub fn check(project: &Project, browser: &Path) -> Result<()> {
    run(&mut project.cargo(["build", "-p", "sassafras"]))?;
    let out = tempfile::tempdir().context("a folder")?;
    for (at, kernel) in KERNELS.iter().enumerate() {
        let input = project.corpus().join(kernel);
        let page = out.path().join(format!("{at}.html"));
        let mut analyze = project.command(project.target.join("debug/sassafras"));
        run(analyze.arg("analyze").arg(&input).arg("--report").arg(&page))?;
        let dom = dom(project, browser, out.path(), &page, "")?;
        ready(&dom).with_context(|| format!("the page of {kernel}"))?;
    }
    sorts(project, browser, out.path())?;
    let picture = out.path().join("page.png");
    let mut screenshot = headless(project, browser, out.path());
    screenshot.arg(joined("--screenshot=", &picture)).arg(format!("--window-size={},{}", SIZE.0, SIZE.1));
    crate::project::quiet(screenshot.arg(joined("file://", &out.path().join("0.html"))))?;
    visible(&fs::read(&picture).context("the browser wrote no picture")?)
}

/// The list of a library with several kernels, sorted by the script both ways.
fn sorts(project: &Project, browser: &Path, out: &Path) -> Result<()> {
    let page = out.join("list.html");
    let library = libraries(project)?;
    let mut analyze = project.command(project.target.join("debug/sassafras"));
    run(analyze.arg("analyze").arg(library).args(["--arch", "sm_75", "--report"]).arg(&page))?;
    for (hash, down) in [(format!("#sort={COLUMN}"), false), (format!("#sort={COLUMN}-"), true)] {
        let dom = dom(project, browser, out, &page, &hash)?;
        ready(&dom)?;
        let mut numbers = column(&dom);
        ensure!(numbers.len() > 1, "a list of {} kernels has no order", numbers.len());
        if down {
            numbers.reverse();
        }
        ensure!(numbers.is_sorted(), "{hash}: {numbers:?}");
    }
    Ok(())
}

/// A library of the corpus.
fn libraries(project: &Project) -> Result<PathBuf> {
    let folder = project.corpus().join("wheels");
    let read = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut found = read.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    found.retain(|path| path.extension() == Some(OsStr::new("so")));
    found.sort();
    found.into_iter().next().with_context(|| format!("no library in {}", folder.display()))
}

fn headless(project: &Project, browser: &Path, out: &Path) -> Command {
    let mut command = project.command(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]);
    command.arg(joined("--user-data-dir=", &out.join("profile")));
    command
}

fn joined(option: &str, path: &Path) -> std::ffi::OsString {
    let mut text = std::ffi::OsString::from(option);
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
