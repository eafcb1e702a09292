//! SASS: any words decode, and any code lifts to a function that keeps the IR's rules.

use sassafras_ir::verify;
use sassafras_machine::Arch;
use sassafras_sass::{Code, Decoder, LiftError, lift};

/// Two bytes choose the architecture and whether indirect branches have known targets; the rest is code.
pub fn sass_decode(data: &[u8]) -> bool {
    let Some(([which, options], bytes)) = data.split_first_chunk::<2>() else {
        return false;
    };
    let archs: Vec<Arch> = Arch::all().filter(|&arch| Decoder::new(arch).has_table()).collect();
    let named = archs.iter().find(|arch| arch.number() == Some(u16::from(*which)));
    let arch = named.copied().unwrap_or(archs[usize::from(*which) % archs.len()]);
    let decoder = Decoder::new(arch);
    let mut indirect = Vec::new();
    for (word, pc) in bytes.as_chunks::<16>().0.iter().zip((0..).step_by(16)) {
        let inst = decoder.decode(u128::from_le_bytes(*word), pc);
        assert_eq!(inst.is_opaque(), inst.mnemonic().is_none());
        assert!(!inst.is_opaque() || inst.registers().is_empty() && inst.accesses().next().is_none());
        assert!(inst.registers().iter().all(|reg| reg.is_read() || reg.is_written()));
        if options & 1 == 1 {
            indirect.push((pc, vec![0, pc, u64::from(*options) << 4]));
        }
    }
    match lift(&Code { name: "f", arch, bytes, indirect: &indirect, jumps: &[] }) {
        Ok(lifted) => {
            assert_eq!(verify::verify(&lifted.function), Ok(()));
            assert_eq!(lifted.function.inst_count() + lifted.padding, bytes.len() / 16);
            true
        }
        Err(LiftError::Empty(_) | LiftError::Ragged { .. } | LiftError::TooManyBlocks { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}
