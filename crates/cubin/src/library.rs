//! Goal: every cubin inside a file, whatever wraps it, with the place it lies at, and its bytes when they are asked for.
//!
//! A file is a cubin, a fatbinary, a host object or library with fatbinaries in its sections, or an archive of those. Sections that are
//! for fatbinaries have to hold nothing else; in other loaded sections they are looked for.
//! Headers are read at once; payloads are read and decompressed when asked for, and nothing of them is kept.

use std::borrow::Cow;

use object::elf::{SHF_ALLOC, SHF_EXECINSTR};
use object::{Object as _, ObjectSection as _, ReadRef};

use crate::compression::{Compression, Limits, decompress};
use crate::cubin::Cubin;
use crate::error::{Error, Problem};
use crate::fatbin::{Entry, Fatbin, ImageKind, MAGIC};
use crate::image::{ContainerKind, Image, Location};
use crate::source::{Fields, Source};
use crate::structures::{Reader, Structures};
use crate::taken::Taken;

/// A file that holds device code, in memory or not.
#[derive(Debug, Clone)]
pub struct Library<'d> {
    source: Source<'d>,
    kind: ContainerKind,
    pub(crate) limits: Limits,
    pub(crate) fatbins: Vec<Fatbin>,
    images: Vec<Image>,
}

impl<'d> Library<'d> {
    /// Recognises a file by its content and finds the images in it.
    ///
    /// # Errors
    /// Names the section and offset that are damaged.
    pub fn parse(source: Source<'d>) -> Result<Self, Error> {
        Self::parse_with(source, Limits::default())
    }

    /// As [`Library::parse`], with bounds on memory.
    ///
    /// # Errors
    /// As [`Library::parse`].
    pub fn parse_with(source: Source<'d>, limits: Limits) -> Result<Self, Error> {
        Self::read(source, limits).map_err(|error| error.within(source.size()))
    }

    fn read(source: Source<'d>, limits: Limits) -> Result<Self, Error> {
        let mut library =
            Self { source, kind: ContainerKind::Cubin, limits, fatbins: Vec::new(), images: Vec::new() };
        let head = source.part(0..HEAD)?;
        library.kind = if head.starts_with(&MAGIC.to_le_bytes()) {
            library.read_fatbins(0, source.size(), &Location::default())?;
            ContainerKind::Fatbinary
        } else if head.starts_with(&object::archive::MAGIC) {
            match source {
                Source::Memory(data) => library.read_archive(data)?,
                Source::File(stored) => {
                    library.read_archive(Structures(&Reader::cache(stored, 0, source.size())))?;
                }
            }
            ContainerKind::Archive
        } else if is_cubin(&head) {
            library.images.push(Image {
                location: Location::default(),
                kind: ImageKind::Cubin,
                sm: Cubin::parse(&source.part(0..source.size())?)?.sm(),
                compression: Compression::None,
                size: source.size(),
                entry: None,
                part: 0,
            });
            ContainerKind::Cubin
        } else if head.starts_with(b"\x7fELF") {
            library.read_host_part(0, source.size(), None)?;
            ContainerKind::Host
        } else {
            return Err(Error::new("file", 0, Problem::NotRecognised));
        };
        Ok(library)
    }

    /// What the file is.
    pub fn kind(&self) -> ContainerKind {
        self.kind
    }

    /// The size of the file.
    pub fn size(&self) -> u64 {
        self.source.size()
    }

    /// Every image, in file order.
    pub fn images(&self) -> &[Image] {
        &self.images
    }

    /// The cubins among the images.
    pub fn cubins(&self) -> impl Iterator<Item = &Image> {
        let images = self.images.iter();
        images.filter(|image| image.kind == ImageKind::Cubin)
    }

    /// An image's bytes, decompressed if need be.
    ///
    /// # Errors
    /// When the file cannot be read, or when the payload does not decompress to what its header says, or is beyond the limits.
    pub fn bytes(&self, image: &Image) -> Result<Cow<'d, [u8]>, Error> {
        let Some((fatbin, entry)) = image.entry else {
            return self.source.part(0..self.source.size());
        };
        let entry = &self.fatbins[fatbin].entries[entry];
        let range = entry.parts[image.part].range.clone();
        let range = range.start as usize..range.end as usize;
        Ok(match self.payload(entry)? {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[range]),
            Cow::Owned(bytes) if range == (0..bytes.len()) => Cow::Owned(bytes),
            Cow::Owned(bytes) => Cow::Owned(bytes[range].to_vec()),
        })
    }

    pub(crate) fn payload(&self, entry: &Entry) -> Result<Cow<'d, [u8]>, Error> {
        let stored = self.source.part(entry.stored.start as u64..entry.stored.end as u64)?;
        if entry.compression == Compression::None {
            return Ok(stored);
        }
        decompress(
            Fields::new(self.source, "fatbinary entry"),
            entry.stored.start as u64,
            &stored,
            entry.decompressed,
            entry.compression,
            self.limits,
        )
        .map(Cow::Owned)
    }

    /// Reads fatbinaries one after the other, with zero padding between them.
    fn read_fatbins(&mut self, start: u64, end: u64, place: &Location) -> Result<(), Error> {
        let name = place.section.as_deref().unwrap_or("fatbinary");
        let file = Fields::new(self.source, name);
        let mut at = start;
        while let Some(next) = self.search(at, end, |window| window.iter().position(|&byte| byte != 0))? {
            let fatbin = Fatbin::parse(file, next, end)?;
            at = self.add(fatbin, place);
        }
        Ok(())
    }

    /// Finds fatbinaries among other data, at addresses that are multiples of 8. What only starts as one is none, unless there are very
    /// many: no data looks so, and each is followed to its end.
    fn find_fatbins(&mut self, start: u64, end: u64, address: u64, place: &Location) -> Result<(), Error> {
        let magic = |window: &[u8]| {
            let mut words = window.as_chunks::<8>().0.iter();
            words.position(|word| word[..4] == MAGIC.to_le_bytes()).map(|word| 8 * word)
        };
        let mut broken = 0;
        let mut at = start + address.wrapping_neg() % 8;
        let file = Fields::new(self.source, place.section.as_deref().unwrap_or("fatbinary"));
        while let Some(found) = self.search(at, end, magic)? {
            at = found;
            match Fatbin::parse(file, at, end) {
                Ok(fatbin) if !fatbin.entries.is_empty() => {
                    let end = self.add(fatbin, place);
                    at += (end - at).next_multiple_of(8);
                }
                Err(error) if broken == MOST_BROKEN || matches!(error.problem, Problem::Unreadable(_)) => {
                    return Err(error);
                }
                Ok(_) => at += 8,
                Err(_) => (broken, at) = (broken + 1, at + 8),
            }
        }
        Ok(())
    }

    /// The first place at `at` or behind it that `find` finds, which is shown the bytes up to `end` window by window.
    fn search(&self, at: u64, end: u64, find: impl Fn(&[u8]) -> Option<usize>) -> Result<Option<u64>, Error> {
        let mut start = at;
        while start < end {
            // The next fatbinary is mostly near.
            let size = if start == at { NEAR } else { FAR };
            let window = self.source.part(start..end.min(start + size))?;
            if let Some(found) = find(&window) {
                return Ok(Some(start + found as u64));
            }
            start += size;
        }
        Ok(None)
    }

    /// Takes in a fatbinary with its images; gives where it ends.
    fn add(&mut self, fatbin: Fatbin, place: &Location) -> u64 {
        for (index, entry) in fatbin.entries.iter().enumerate() {
            for (number, part) in entry.parts.iter().enumerate() {
                self.images.push(Image {
                    location: Location {
                        fatbinary: Some(fatbin.start as u64),
                        entry: Some(entry.header.start as u64),
                        part: (entry.parts.len() > 1).then_some(number),
                        ..place.clone()
                    },
                    kind: part.kind,
                    sm: part.sm,
                    compression: entry.compression,
                    size: part.range.end - part.range.start,
                    entry: Some((self.fatbins.len(), index)),
                    part: number,
                });
            }
        }
        let end = fatbin.body.end as u64;
        self.fatbins.push(fatbin);
        end
    }

    /// Reads the fatbinary sections of the host file that lies at `base` of the whole.
    fn read_host_part(&mut self, base: u64, size: u64, member: Option<&str>) -> Result<(), Error> {
        let file = Fields { source: self.source, name: "host file", base, size };
        match self.source {
            Source::Memory(data) => {
                self.read_host(file, &data[base as usize..(base + size) as usize], member)
            }
            Source::File(stored) => {
                self.read_host(file, Structures(&Reader::cache(stored, base, size)), member)
            }
        }
    }

    /// The same with the means to read its structures.
    fn read_host<'r>(
        &mut self,
        host: Fields<'_, '_>,
        data: impl ReadRef<'r>,
        member: Option<&str>,
    ) -> Result<(), Error> {
        let base = host.base;
        let file = object::File::parse(data)
            .map_err(|e| Error::new("host file", base, Problem::Elf(e.to_string())))?;
        let before = self.fatbins.len();
        // Where sections lie over each other, what is found belongs to one of them: those for fatbinaries first, then the earlier ones.
        let mut taken = Taken::default();
        for section in file.sections().filter(|s| s.name().is_ok_and(|name| FATBIN_SECTIONS.contains(&name)))
        {
            if let Some((offset, size)) = section.file_range() {
                taken.insert(offset..offset.saturating_add(size));
            }
        }
        for section in file.sections() {
            let name = section.name().map_err(|e| {
                let at = base + section_headers(host);
                Error::new("section headers", at, Problem::Elf(e.to_string()))
            })?;
            let Some((offset, size)) = section.file_range() else {
                continue;
            };
            let named = FATBIN_SECTIONS.contains(&name);
            if !named && !may_hold_data(&section) {
                continue;
            }
            let host = Fields { name, ..host };
            match host.range(offset, size, "section") {
                Err(error) if named => return Err(error),
                Err(_) => continue,
                Ok(_) => {}
            }
            let range = offset..offset + size;
            if !named && taken.overlaps(&range) {
                continue;
            }
            taken.insert(range);
            let place = Location {
                member: member.map(str::to_owned),
                section: Some(name.to_owned()),
                ..Location::default()
            };
            let (start, end) = (base + offset, base + offset + size);
            if named {
                self.read_fatbins(start, end, &place)?;
            } else {
                self.find_fatbins(start, end, section.address(), &place)?;
            }
        }
        if self.fatbins.len() == before && member.is_none() {
            return Err(Error::new("host file", base, Problem::NoDeviceCode));
        }
        Ok(())
    }

    fn read_archive<'r>(&mut self, data: impl ReadRef<'r>) -> Result<(), Error> {
        let failed =
            |at, error: object::Error| Error::new("archive", at, Problem::Archive(error.to_string()));
        let archive = object::read::archive::ArchiveFile::parse(data).map_err(|e| failed(0, e))?;
        let mut end = 0;
        for member in archive.members() {
            let member = member.map_err(|e| failed(end, e))?;
            if member.is_thin() {
                continue;
            }
            let name = String::from_utf8_lossy(member.name());
            let (offset, size) = member.file_range();
            end = offset.saturating_add(size);
            Fields::new(self.source, "archive").range(offset, size, "archive member")?;
            let head = self.source.part(offset..offset + size.min(HEAD))?;
            if head.starts_with(b"\x7fELF") && !is_cubin(&head) {
                self.read_host_part(offset, size, Some(&name))?;
            }
        }
        if self.images.is_empty() {
            return Err(Error::new("archive", 0, Problem::NoDeviceCode));
        }
        Ok(())
    }
}

/// Device code ready to run, and device objects that the linker has already used: nothing but fatbinaries, one after the other.
pub(crate) const FATBIN_SECTIONS: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];

/// Bytes by which a file is recognised.
const HEAD: u64 = 64;

/// Bytes that are looked through at once; multiples of 8.
const NEAR: u64 = 4 << 10;
const FAR: u64 = 1 << 20;

/// So many things in a section may start as a fatbinary and be none.
const MOST_BROKEN: u32 = 1000;

/// Whether a section may hold fatbinaries among other data: it is loaded, and no code. Linkers put them into `.ldata` or `.lrodata` for
/// files beyond 2 GiB, and whoever embeds them as arrays into `.rodata` or `.data`.
fn may_hold_data<'d>(section: &impl object::ObjectSection<'d>) -> bool {
    let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
    sh_flags.0 & SHF_ALLOC.0 != 0 && sh_flags.0 & SHF_EXECINSTR.0 == 0
}

/// Where a 64-bit ELF file says its section headers are.
fn section_headers(file: Fields<'_, '_>) -> u64 {
    file.u64(40, "section headers").unwrap_or_default()
}

fn is_cubin(data: &[u8]) -> bool {
    data.starts_with(b"\x7fELF") && data.get(18..20) == Some(&190u16.to_le_bytes()[..])
}
