//! Goal: every cubin inside a file, whatever wraps it, with the place it lies at.
//!
//! A file is a cubin, a fatbinary, a host object or library with fatbinaries in its sections, or an archive of those. Sections that are
//! for fatbinaries have to hold nothing else; in other loaded sections they are looked for.
//! Headers are read at once; payloads are decompressed when asked for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use object::elf::{SHF_ALLOC, SHF_EXECINSTR};
use object::{Object as _, ObjectSection as _};

use crate::bytes::Bytes;
use crate::compression::{Compression, Limits, decompress};
use crate::cubin::Cubin;
use crate::error::{Error, Problem};
use crate::fatbin::{Entry, Fatbin, ImageKind, MAGIC};
use crate::sm::Sm;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContainerKind {
    /// A cubin by itself.
    Cubin,
    /// A fatbinary by itself, or several one after the other.
    Fatbinary,
    /// A host object, executable or shared library.
    Host,
    /// A static library.
    Archive,
}

/// A file that holds device code.
#[derive(Debug, Clone)]
pub struct Container<'d> {
    pub(crate) data: &'d [u8],
    kind: ContainerKind,
    pub(crate) limits: Limits,
    pub(crate) fatbins: Vec<Fatbin>,
    images: Vec<Image>,
}

/// One device image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Where it lies.
    pub location: Location,
    /// What it is.
    pub kind: ImageKind,
    /// The SM its wrapper names; for a cubin by itself, the one it names.
    pub sm: Sm,
    /// How it is stored.
    pub compression: Compression,
    /// Its size when decompressed.
    pub size: u64,
    /// Fatbinary and entry.
    pub(crate) entry: Option<(usize, usize)>,
    pub(crate) part: usize,
}

/// The way to an image. Offsets count from the start of the outermost file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Location {
    /// Member of an archive.
    pub member: Option<String>,
    /// Section of a host file.
    pub section: Option<String>,
    /// Offset of the fatbinary.
    pub fatbinary: Option<u64>,
    /// Offset of the entry in it.
    pub entry: Option<u64>,
    /// Number of the image among those compressed together in the entry.
    pub part: Option<usize>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut step = |f: &mut fmt::Formatter<'_>, text: fmt::Arguments| {
            write!(f, "{separator}{text}")?;
            separator = ", ";
            Ok(())
        };
        if let Some(member) = &self.member {
            step(f, format_args!("member {member}"))?;
        }
        if let Some(section) = &self.section {
            step(f, format_args!("section {section}"))?;
        }
        if let Some(at) = self.fatbinary {
            step(f, format_args!("fatbinary at {at:#x}"))?;
        }
        if let Some(at) = self.entry {
            step(f, format_args!("entry at {at:#x}"))?;
        }
        if let Some(part) = self.part {
            step(f, format_args!("image {part}"))?;
        }
        if separator.is_empty() {
            f.write_str("the file itself")?;
        }
        Ok(())
    }
}

impl<'d> Container<'d> {
    /// Recognises a file by its content and finds the images in it.
    ///
    /// # Errors
    /// Names the section and offset that are damaged.
    pub fn parse(data: &'d [u8]) -> Result<Self, Error> {
        Self::parse_with(data, Limits::default())
    }

    /// As [`Container::parse`], with bounds on memory.
    ///
    /// # Errors
    /// As [`Container::parse`].
    pub fn parse_with(data: &'d [u8], limits: Limits) -> Result<Self, Error> {
        Self::read(data, limits).map_err(|error| error.within(data))
    }

    fn read(data: &'d [u8], limits: Limits) -> Result<Self, Error> {
        let mut container =
            Self { data, kind: ContainerKind::Cubin, limits, fatbins: Vec::new(), images: Vec::new() };
        container.kind = if data.starts_with(&MAGIC.to_le_bytes()) {
            container.read_fatbins(0, data.len() as u64, &Location::default())?;
            ContainerKind::Fatbinary
        } else if data.starts_with(&object::archive::MAGIC) {
            container.read_archive()?;
            ContainerKind::Archive
        } else if is_cubin(data) {
            container.images.push(Image {
                location: Location::default(),
                kind: ImageKind::Cubin,
                sm: Cubin::parse(data)?.sm(),
                compression: Compression::None,
                size: data.len() as u64,
                entry: None,
                part: 0,
            });
            ContainerKind::Cubin
        } else if data.starts_with(b"\x7fELF") {
            container.read_host(0, data, None)?;
            ContainerKind::Host
        } else {
            return Err(Error::new("file", 0, Problem::NotRecognised));
        };
        Ok(container)
    }

    /// What the file is.
    pub fn kind(&self) -> ContainerKind {
        self.kind
    }

    /// The file's bytes.
    pub fn data(&self) -> &'d [u8] {
        self.data
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

    /// Whether an image is an object that the device linker used for this file, and that nothing loads: linked host files carry those beside the code that
    /// was made of them, where they were compiled for separate linking.
    pub fn is_used_up(&self, image: &Image) -> bool {
        const LINKED: [u16; 2] = [object::elf::ET_EXEC.0, object::elf::ET_DYN.0];
        let kind = self.data.get(16..18).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        self.kind == ContainerKind::Host
            && image.location.section.as_deref() == Some(FATBIN_SECTIONS[1])
            && kind.is_some_and(|kind| LINKED.contains(&kind))
    }

    /// An image's bytes, decompressed if need be.
    ///
    /// # Errors
    /// When the payload does not decompress to what its header says, or is beyond the limits.
    pub fn bytes(&self, image: &Image) -> Result<Cow<'d, [u8]>, Error> {
        let Some((fatbin, entry)) = image.entry else {
            return Ok(Cow::Borrowed(self.data));
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

    /// The bytes that an image is stored in, compressed or not; several images may share them.
    pub fn stored(&self, image: &Image) -> &'d [u8] {
        match image.entry {
            Some((fatbin, entry)) => &self.data[self.fatbins[fatbin].entries[entry].stored.clone()],
            None => self.data,
        }
    }

    pub(crate) fn payload(&self, entry: &Entry) -> Result<Cow<'d, [u8]>, Error> {
        let stored = &self.data[entry.stored.clone()];
        if entry.compression == Compression::None {
            return Ok(Cow::Borrowed(stored));
        }
        decompress(
            Bytes::new(self.data, "fatbinary entry"),
            entry.stored.start as u64,
            stored,
            entry.decompressed,
            entry.compression,
            self.limits,
        )
        .map(Cow::Owned)
    }

    /// Reads fatbinaries one after the other, with zero padding between them.
    fn read_fatbins(&mut self, start: u64, end: u64, place: &Location) -> Result<(), Error> {
        let name = place.section.as_deref().unwrap_or("fatbinary");
        let file = Bytes::new(self.data, name);
        let mut at = start;
        loop {
            let rest = &self.data[at as usize..end as usize];
            let Some(padding) = rest.iter().position(|&byte| byte != 0) else {
                return Ok(());
            };
            at += padding as u64;
            let fatbin = Fatbin::parse(file, at, end)?;
            at = self.add(fatbin, place);
        }
    }

    /// Finds fatbinaries among other data, at addresses that are multiples of 8. What only starts as one is none, unless there are very
    /// many: no data looks so, and each is followed to its end.
    fn find_fatbins(&mut self, start: u64, end: u64, address: u64, place: &Location) -> Result<(), Error> {
        let mut broken = 0;
        let mut at = start + address.wrapping_neg() % 8;
        let file = Bytes::new(self.data, place.section.as_deref().unwrap_or("fatbinary"));
        while let Some(rest) = self.data.get(at as usize..end as usize) {
            let (words, _) = rest.as_chunks::<8>();
            let Some(found) = words.iter().position(|word| word[..4] == MAGIC.to_le_bytes()) else {
                return Ok(());
            };
            at += 8 * found as u64;
            match Fatbin::parse(file, at, end) {
                Ok(fatbin) if !fatbin.entries.is_empty() => {
                    let end = self.add(fatbin, place);
                    at += (end - at).next_multiple_of(8);
                }
                Err(error) if broken == MOST_BROKEN => return Err(error),
                Ok(_) => at += 8,
                Err(_) => (broken, at) = (broken + 1, at + 8),
            }
        }
        Ok(())
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

    /// Reads the fatbinary sections of the host file `data`, which lies at `base` of the whole.
    fn read_host(&mut self, base: u64, data: &[u8], member: Option<&str>) -> Result<(), Error> {
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
                let at = base + section_headers(data);
                Error::new("section headers", at, Problem::Elf(e.to_string()))
            })?;
            let Some((offset, size)) = section.file_range() else {
                continue;
            };
            let named = FATBIN_SECTIONS.contains(&name);
            if !named && !may_hold_data(&section) {
                continue;
            }
            match Bytes::part(data, name, base).range(offset, size, "section") {
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

    fn read_archive(&mut self) -> Result<(), Error> {
        let data = self.data;
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
            let bytes = Bytes::new(data, "archive").slice(offset, size, "archive member")?;
            if bytes.starts_with(b"\x7fELF") && !is_cubin(bytes) {
                self.read_host(offset, bytes, Some(&name))?;
            }
        }
        if self.images.is_empty() {
            return Err(Error::new("archive", 0, Problem::NoDeviceCode));
        }
        Ok(())
    }
}

/// Parts of a file, none of which meets another.
#[derive(Default)]
struct Taken(BTreeMap<u64, u64>);

impl Taken {
    /// A part that is taken and meets this one.
    fn meets(&self, range: &Range<u64>) -> Option<Range<u64>> {
        let (&start, &end) = self.0.range(..range.end).next_back()?;
        (end > range.start).then_some(start..end)
    }

    fn overlaps(&self, range: &Range<u64>) -> bool {
        self.meets(range).is_some()
    }

    fn insert(&mut self, mut range: Range<u64>) {
        while let Some(other) = self.meets(&range) {
            self.0.remove(&other.start);
            range = range.start.min(other.start)..range.end.max(other.end);
        }
        if !range.is_empty() {
            self.0.insert(range.start, range.end);
        }
    }
}

/// Device code ready to run, and device objects that the linker has already used: nothing but fatbinaries, one after the other.
pub(crate) const FATBIN_SECTIONS: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];

/// So many things in a section may start as a fatbinary and be none.
const MOST_BROKEN: u32 = 1000;

/// Whether a section may hold fatbinaries among other data: it is loaded, and no code. Linkers put them into `.ldata` or `.lrodata` for
/// files beyond 2 GiB, and whoever embeds them as arrays into `.rodata` or `.data`.
fn may_hold_data<'d>(section: &impl object::ObjectSection<'d>) -> bool {
    let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
    sh_flags.0 & SHF_ALLOC.0 != 0 && sh_flags.0 & SHF_EXECINSTR.0 == 0
}

/// Where a 64-bit ELF file says its section headers are.
fn section_headers(data: &[u8]) -> u64 {
    Bytes::new(data, "host file").u64(40, "section headers").unwrap_or_default()
}

fn is_cubin(data: &[u8]) -> bool {
    data.starts_with(b"\x7fELF") && data.get(18..20) == Some(&190u16.to_le_bytes()[..])
}
