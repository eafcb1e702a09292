//! Goal: how many warps of a kernel a scheduler has at once, from what the cubin declares and what the user says.

use sassafras_cubin::Code;
use sassafras_ir::text::Declared;
use sassafras_machine::multiprocessor::Launch;
use std::str::FromStr;

/// What is known about a launch. What it leaves out is taken from the cubin: registers, static shared memory, declared block size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchHint {
    /// Threads of a block.
    block: Option<u32>,
    /// Blocks that a multiprocessor has at once.
    blocks_per_sm: Option<u32>,
    /// Bytes of dynamic shared memory of a block.
    smem: Option<u64>,
}

impl LaunchHint {
    /// What is known of the launch of a kernel.
    pub fn launch(&self, code: &Code<'_>) -> Launch {
        self.with(declared(code))
    }

    /// What is known of the launch of a kernel that declares this.
    pub fn with(&self, declared: Declared) -> Launch {
        Launch {
            registers: declared.registers,
            threads: self.block.or(declared.threads),
            shared: declared.shared.saturating_add(self.smem.unwrap_or(0)),
            blocks: self.blocks_per_sm,
        }
    }
}

/// What the code of a section declares.
pub fn declared(code: &Code<'_>) -> Declared {
    let size = code.required_threads.or(code.max_threads);
    let threads = size.map(|size| size.iter().fold(1u32, |all, &side| all.saturating_mul(side.max(1))));
    Declared { entry: code.is_kernel(), registers: code.registers, threads, shared: code.shared_bytes }
}

impl FromStr for LaunchHint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut launch = Self::default();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(|| format!("`{part}` is not NAME=NUMBER"))?;
            let number: u32 = value.trim().parse().map_err(|_| format!("`{value}` is no number"))?;
            let most = |most: u32| match number {
                0 => Err(format!("`{name}` has to be at least 1")),
                _ if number > most => Err(format!("`{name}` is at most {most}")),
                _ => Ok(Some(number)),
            };
            match name.trim() {
                "block" => launch.block = most(1024)?,
                "blocks-per-sm" => launch.blocks_per_sm = most(64)?,
                "smem" => launch.smem = Some(u64::from(number)),
                _ => return Err(format!("`{name}` is none of block, blocks-per-sm and smem")),
            }
        }
        Ok(launch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_named() {
        let launch: LaunchHint = "block=128,smem=4096".parse().expect("two parts");
        assert_eq!(launch, LaunchHint { block: Some(128), smem: Some(4096), blocks_per_sm: None });
        for wrong in ["", "block", "block=x", "block=0", "block=2048", "blocks=3", "blocks-per-sm=99"] {
            assert!(wrong.parse::<LaunchHint>().is_err(), "{wrong}");
        }
    }
}
