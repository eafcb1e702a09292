//! Goal: a place for every new fatbinary of a file.
//!
//! A fatbinary by itself may grow. In a host file the room is what the fatbinary had; where that is not enough, the section that
//! holds it moves behind everything else. Priorities: a section stays where more effort makes its payloads fit; but where one of
//! them shows that it will not, no time is spent on the others.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::container::Container;
use crate::grow::{Fixed, Host, Movable};
use crate::image::ContainerKind;
use crate::pack::{Fitting, Pack};
use crate::replace::NoRoom;

/// A file, and the edits that there is no room for.
type Placed = (Vec<u8>, Vec<(usize, NoRoom)>);

impl Container<'_> {
    /// The file with new payloads.
    pub(crate) fn place(&self, packs: &[Pack<'_>]) -> Placed {
        match self.kind() {
            ContainerKind::Cubin | ContainerKind::Fatbinary => (self.place_growing(packs), Vec::new()),
            ContainerKind::Archive => self.place_within(packs, |_| Fixed::Archive),
            ContainerKind::Host => self.place_in_host(packs),
        }
    }

    /// Fatbinaries by themselves, as large as need be.
    fn place_growing(&self, packs: &[Pack<'_>]) -> Vec<u8> {
        let mut data = self.data.to_vec();
        // From the end, so that a fatbinary that grows moves none that is still to come.
        for pack in packs.iter().rev() {
            let (fatbin, mut body) = (&self.fatbins()[pack.number], Vec::new());
            self.add_in_place(pack, &mut body);
            data[fatbin.start + 8..fatbin.start + 16].copy_from_slice(&(body.len() as u64).to_le_bytes());
            data.splice(fatbin.body.clone(), body);
        }
        data
    }

    /// Fatbinaries in the room that they have. `fixed` says of each why there is no more.
    fn place_within(&self, packs: &[Pack<'_>], fixed: impl Fn(&Pack<'_>) -> Fixed + Sync) -> Placed {
        let bodies: Vec<Option<Fitting>> =
            packs.par_iter().map(|pack| self.body_within(pack, Some(fixed(pack)))).collect();
        self.write(packs.iter().zip(bodies.into_iter().flatten()))
    }

    fn write<'p>(&self, bodies: impl Iterator<Item = (&'p Pack<'p>, Fitting)>) -> Placed {
        let (mut data, mut refused) = (self.data.to_vec(), Vec::new());
        let mut body = Vec::new();
        for (pack, fitting) in bodies {
            let room = &mut data[self.fatbins()[pack.number].body.clone()];
            match fitting {
                Fitting::InPlace => {
                    body.clear();
                    self.add_in_place(pack, &mut body);
                    room.copy_from_slice(&body);
                }
                Fitting::Anew((body, no_room)) => {
                    room.copy_from_slice(&body);
                    refused.extend(no_room);
                }
            }
        }
        (data, refused)
    }

    /// Fatbinaries in the room that they have, and whole sections at new places where that is not enough.
    fn place_in_host(&self, packs: &[Pack<'_>]) -> Placed {
        let no_need = Fixed::Structure("there is no need");
        if packs.iter().all(|pack| pack.fits) {
            return self.place_within(packs, |_| no_need);
        }
        let host = match Host::read(self.data, self.limits()) {
            Ok(host) => host,
            Err(fixed) => return self.place_within(packs, |_| fixed),
        };
        let section = |pack: &Pack<'_>| host.section_at(self.fatbins()[pack.number].start);
        let by_number: BTreeMap<usize, &Pack<'_>> = packs.iter().map(|pack| (pack.number, pack)).collect();
        let is_edited = |number: usize| by_number.contains_key(&number);
        let mut sections: BTreeMap<usize, Result<Movable, Fixed>> = BTreeMap::new();
        for index in packs.iter().filter(|pack| !pack.fits).filter_map(section) {
            sections.entry(index).or_insert_with(|| host.movable(index, self.fatbins(), is_edited));
        }
        let fixed = |pack: &Pack<'_>| {
            let section = section(pack).and_then(|index| sections.get(&index));
            section.map_or(Some(no_need), |movable| movable.as_ref().err().copied())
        };
        let hopeless = |pack: &&Pack<'_>| fixed(pack).is_none() && self.is_hopeless(pack);
        let mut moving: BTreeSet<usize> = packs.par_iter().filter(hopeless).filter_map(section).collect();
        let stays = |pack: &Pack<'_>, moving: &BTreeSet<usize>| {
            section(pack).is_none_or(|index| !moving.contains(&index))
        };
        let tried: Vec<(&Pack<'_>, Option<Fitting>)> = (packs.par_iter())
            .filter(|pack| stays(pack, &moving))
            .map(|pack| (pack, self.body_within(pack, fixed(pack))))
            .collect();
        let too_large = tried.iter().filter(|(_, body)| body.is_none());
        moving.extend(too_large.filter_map(|(pack, _)| section(pack)));
        let staying = tried.into_iter().filter(|(pack, _)| stays(pack, &moving));
        let (data, refused) = self.write(staying.filter_map(|(pack, body)| Some((pack, body?))));
        let moves: Vec<(&Movable, Vec<usize>)> = (moving.iter())
            .filter_map(|index| sections.get(index)?.as_ref().ok())
            .map(|movable| {
                let size = |&number: &usize| self.whole_size(number, by_number.get(&number).copied());
                (movable, movable.fatbins.iter().map(size).collect())
            })
            .collect();
        if moves.is_empty() {
            return (data, refused);
        }
        let whole = |number, to: &mut Vec<u8>| self.whole(number, by_number.get(&number).copied(), to);
        match host.grow(data, &moves, whole) {
            Ok(data) => (data, refused),
            Err(fixed) => self.place_within(packs, |_| fixed),
        }
    }

    /// Adds a fatbinary with its header, with new payloads if there are any.
    fn whole(&self, number: usize, pack: Option<&Pack<'_>>, to: &mut Vec<u8>) {
        let fatbin = &self.fatbins()[number];
        let start = to.len();
        to.extend_from_slice(&self.data[fatbin.start..fatbin.body.start]);
        match pack {
            Some(pack) => self.add_as_needed(pack, to),
            None => to.extend_from_slice(&self.data[fatbin.body.clone()]),
        }
        let size = (to.len() - start - (fatbin.body.start - fatbin.start)) as u64;
        to[start + 8..start + 16].copy_from_slice(&size.to_le_bytes());
    }

    /// Bytes that [`Container::whole`] adds.
    fn whole_size(&self, number: usize, pack: Option<&Pack<'_>>) -> usize {
        let fatbin = &self.fatbins()[number];
        let header = fatbin.body.start - fatbin.start;
        header + pack.map_or(fatbin.body.len(), |pack| self.needed(pack))
    }
}
