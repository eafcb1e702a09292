//! `write_seeds TARGET FOLDER`: writes the starting inputs of a target into a corpus folder.

use sassafras_fuzz::seeds::seeds;
use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let (Some(target), Some(folder), None) = (args.next(), args.next().map(PathBuf::from), args.next())
    else {
        return Err("usage: write_seeds TARGET FOLDER".into());
    };
    fs::create_dir_all(&folder)?;
    for (number, seed) in seeds(&target)?.iter().enumerate() {
        fs::write(folder.join(format!("seed-{number:03}")), seed)?;
    }
    Ok(())
}
