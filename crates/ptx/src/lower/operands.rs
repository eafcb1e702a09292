//! Operands of an instruction by the row of the table.

use super::{Lowering, MAX_OPERANDS, NoLane, parse_number};
use crate::syntax::{Atom, AtomKind, InstId, Link, OperandKind};
use crate::table::{Access, AccessKind, Implicit, Modifiers, Role, Row, Table};
use sassafras_ir::{AccessFlags, Effects, Lane, MemAccess, Operand, RegClass, Space};

/// `Ok(None)`: the operand is not understood.
type Understood = Result<Option<Effects>, NoLane>;
const DONE: Understood = Ok(Some(Effects::empty()));

impl Lowering<'_> {
    /// Fills `defs` and `uses` and returns the effects; `Ok(None)` when the operands do not fit the row.
    pub(super) fn by_row(&mut self, inst: InstId, row: &Row, modifiers: Modifiers) -> Understood {
        let module = self.module;
        let operands = module.operands(inst);
        let Some(mut roles) = row.roles(operands) else { return Ok(None) };
        let is_call = row.effects.contains(Effects::CALL) && operands.len() > 1;
        if is_call && operands.first().is_some_and(|operand| operand.kind == OperandKind::Group) {
            // What is returned stands first, in parentheses.
            roles[0] = &Role::Write;
        }
        let mut effects = row.effects;
        for (operand, role) in operands.iter().zip(roles) {
            let atoms = module.atoms(operand);
            let has_register = atoms.iter().any(|atom| matches!(atom.kind, AtomKind::Register { .. }));
            if !operand.exact && (has_register || *role == Role::Write) {
                return Ok(None);
            }
            let understood = match role {
                Role::Read => self.reads(atoms),
                // Memory that a call returns in is a name.
                Role::Write => self.writes(atoms, operand.kind == OperandKind::Group),
                Role::Both => match self.reads(atoms)? {
                    Some(_) => self.writes(atoms, false),
                    None => Ok(None),
                },
                Role::Label => Ok(self.branch(inst, atoms)),
                Role::Address(access) => self.address(access, modifiers, operand.exact, atoms),
            };
            match understood? {
                Some(more) => effects |= more,
                None => return Ok(None),
            }
        }
        for implicit in &row.implicit {
            self.implicit(*implicit, modifiers);
        }
        if effects.contains(Effects::RET) {
            self.returned()?;
        }
        let too_many = self.defs.len().max(self.uses.len()) > MAX_OPERANDS;
        Ok(if too_many || self.writes_twice() { None } else { Some(effects) })
    }

    /// Two results in one register: which one wins is not said.
    fn writes_twice(&self) -> bool {
        let mut lanes: Vec<Lane> =
            self.defs.iter().filter_map(|op| op.span()).flat_map(|s| s.lanes()).collect();
        lanes.sort_unstable();
        lanes.windows(2).any(|pair| pair[0] == pair[1])
    }

    fn reads(&mut self, atoms: &[Atom]) -> Understood {
        let mut effects = Effects::empty();
        for atom in atoms {
            match self.read(atom)? {
                Some(more) => effects |= more,
                None => return Ok(None),
            }
        }
        Ok(Some(effects))
    }

    fn read(&mut self, atom: &Atom) -> Understood {
        let module = self.module;
        let text = module.text(atom.span);
        match atom.kind {
            AtomKind::Register { register, index, element } => {
                let Some(span) = self.registers.span(module, register, index, element)? else {
                    return Ok(None);
                };
                self.uses.push(Operand::Reg(span));
                DONE
            }
            AtomKind::Number => {
                let value = parse_number(text).unwrap_or(0);
                self.uses.push(Operand::Imm(if atom.negative { value.wrapping_neg() } else { value }));
                DONE
            }
            AtomKind::Word if text.starts_with('%') => {
                let Some(changes) = Table::get().special(text) else { return Ok(None) };
                let name = self.ir.intern(text);
                self.uses.push(Operand::Symbol(name));
                Ok(Some(if changes { Effects::ORDERED } else { Effects::empty() }))
            }
            AtomKind::Word | AtomKind::Quoted => {
                let name = self.ir.intern(text);
                self.uses.push(Operand::Symbol(name));
                DONE
            }
        }
    }

    fn writes(&mut self, atoms: &[Atom], names_too: bool) -> Understood {
        for atom in atoms {
            let text = self.module.text(atom.span);
            match atom.kind {
                AtomKind::Register { register, index, element } if atom.link != Link::Plus => {
                    let Some(span) = self.registers.span(self.module, register, index, element)? else {
                        return Ok(None);
                    };
                    self.defs.push(Operand::Reg(span));
                }
                AtomKind::Word if text == "_" => self.defs.push(Operand::Constant(RegClass::Gpr)),
                AtomKind::Word if names_too && !text.starts_with('%') => {}
                _ => return Ok(None),
            }
        }
        DONE
    }

    fn branch(&mut self, inst: InstId, atoms: &[Atom]) -> Option<Effects> {
        let [atom] = atoms else { return None };
        let (module, scope) = (self.module, self.module.inst(inst).scope);
        let name = module.text(atom.span);
        match self.labels.find(module, scope, name) {
            Some(block) => self.uses.push(Operand::Label(block)),
            None => {
                let blocks = self.labels.list(module, scope, name).filter(|blocks| !blocks.is_empty())?;
                self.uses.extend(blocks.into_iter().map(Operand::Label));
            }
        }
        Some(Effects::empty())
    }

    /// `[register+16]`, `[name+16]`, or anything else between the brackets: then where it goes is not known, and what it names is read.
    fn address(&mut self, access: &Access, modifiers: Modifiers, exact: bool, atoms: &[Atom]) -> Understood {
        let mut mem = self.access(access, modifiers);
        let plain = exact && atoms.iter().skip(1).all(|a| a.link == Link::Plus && a.kind == AtomKind::Number);
        let mut known = plain && access.kind != AccessKind::None;
        if let (true, Some(first)) = (known, atoms.first()) {
            match first.kind {
                AtomKind::Register { register, index, element } => {
                    mem.base = self.registers.span(self.module, register, index, element)?;
                    if mem.base.is_none() {
                        return Ok(None);
                    }
                }
                AtomKind::Number => mem.offset = self.offset(first),
                AtomKind::Word => {
                    let name = self.module.text(first.span);
                    if name.starts_with('%') {
                        return Ok(None);
                    }
                    mem.base = Some(self.registers.memory(name)?);
                    if mem.space == Space::Param && self.kernel_params.contains(name) {
                        mem.flags |= AccessFlags::READ_ONLY;
                    }
                }
                AtomKind::Quoted => known = false,
            }
            for atom in &atoms[1..] {
                mem.offset = mem.offset.wrapping_add(self.offset(atom));
            }
        }
        if !known {
            mem.width = None;
            if self.reads(atoms)?.is_none() {
                return Ok(None);
            }
        }
        self.add_access(access.kind, mem);
        Ok(Some(modifiers.effects))
    }

    fn offset(&self, atom: &Atom) -> i64 {
        let value = parse_number(self.module.text(atom.span)).unwrap_or(0);
        if atom.negative { value.wrapping_neg() } else { value }
    }

    fn access(&self, access: &Access, modifiers: Modifiers) -> MemAccess {
        let mut flags = modifiers.flags;
        match access.kind {
            AccessKind::Read | AccessKind::None => {}
            AccessKind::Write => flags.remove(AccessFlags::READ_ONLY),
            AccessKind::Atomic => {
                flags.remove(AccessFlags::READ_ONLY);
                flags |= AccessFlags::ATOMIC;
            }
        }
        MemAccess {
            space: access.space.or(modifiers.space).unwrap_or(Space::Generic),
            flags,
            width: modifiers.bytes.filter(|_| access.sized),
            base: None,
            index: None,
            offset: 0,
        }
    }

    fn add_access(&mut self, kind: AccessKind, mem: MemAccess) {
        let side = match kind {
            AccessKind::None => return,
            AccessKind::Read => &mut self.uses,
            AccessKind::Write | AccessKind::Atomic => &mut self.defs,
        };
        side.push(Operand::Mem(self.ir.add_mem(mem)));
    }

    fn implicit(&mut self, implicit: Implicit, modifiers: Modifiers) {
        let carry = Lane::physical(RegClass::Flag, 0).map(|lane| Operand::Reg(lane.into()));
        match implicit {
            Implicit::ReadCarry => self.uses.extend(carry),
            Implicit::WriteCarry => self.defs.extend(carry),
            Implicit::Access(access) => {
                let mem = self.access(&access, modifiers);
                self.add_access(access.kind, mem);
            }
        }
    }
}
