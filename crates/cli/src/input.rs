//! Reading what the user named, and recognising it by its content.

use crate::failure::{Failure, say};
use crate::progress::Bar;
use anyhow::{Context, Result, anyhow, bail};
use sassafras::Selection;
use sassafras::sites::{self, Site};
use sassafras_cubin::{Container, ContainerKind, Library, Source, Stored};
use sassafras_ir::text::Annotated;
use sassafras_ir::{Function, text, verify};
use sassafras_machine::Arch;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::OnceLock;

/// The built-in sample: `corpus/cuda/nbody.cu` as ptxas compiled it for sm_90. A test of the corpus holds it to that.
const SAMPLE: &[u8] = include_bytes!("../samples/nbody.cubin");

/// Options that select code: all of it without them.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SelectionArguments {
    /// Only this kernel or function; may be given several times
    #[arg(long = "kernel", visible_alias = "only-kernel", value_name = "NAME")]
    pub kernels: Vec<String>,
    /// Only code for this architecture; may be given several times
    #[arg(long = "arch", value_name = "SM", value_parser = str::parse::<Arch>)]
    pub archs: Vec<Arch>,
}

impl SelectionArguments {
    /// What is selected.
    pub fn get(&self) -> Selection {
        Selection { kernels: self.kernels.clone(), archs: self.archs.clone() }
    }
}

/// Says which selected names several functions of a file have.
pub fn say_several(file: &str, several: &[(String, u32)]) {
    for (name, count) in several {
        say(&format!("note: {file}: {count} functions are called `{name}`; all are taken"));
    }
}

/// A file that was read.
pub enum Input {
    /// The text IR.
    Text(Text),
    /// PTX.
    Ptx(Ptx),
    /// A cubin or something that holds cubins.
    Binary(Binary),
}

/// A parsed text-IR file with its name for messages.
pub struct Text {
    /// How messages call it.
    pub name: String,
    /// What it holds.
    pub functions: Vec<Annotated>,
}

/// A parsed PTX file with its name for messages.
pub struct Ptx {
    /// How messages call it.
    pub name: String,
    /// What it holds.
    pub module: Box<sassafras_ptx::Module>,
}

/// A file that holds device code, with its name for messages. What is in a file stays there until it is asked for.
pub struct Binary {
    /// How messages call it.
    pub name: String,
    /// Where it is read from piece by piece; else it came from a pipe, and is in `bytes`.
    file: Option<Stored>,
    /// All of it, from the first time that somebody asked.
    bytes: OnceLock<Vec<u8>>,
}

impl Input {
    /// Reads a file; `-` is standard input.
    pub fn read(path: &Path) -> Result<Input> {
        if let Some(binary) = Binary::open(path) {
            return Ok(Input::Binary(binary));
        }
        let (name, bytes) = read_bytes(path)?;
        if is_binary(&bytes) {
            return Ok(Input::Binary(Binary { name, file: None, bytes: bytes.into() }));
        }
        if bytes.is_empty() {
            bail!("{name}: the file is empty; expected {EXPECTED}");
        }
        if bytes.starts_with(b"\xef\xbb\xbf") {
            bail!("{name}: offset 0: starts with a byte-order mark; save the text IR as UTF-8 without one");
        }
        match String::from_utf8(bytes) {
            Ok(source) if is_ptx(&source) => Ok(Input::Ptx(Ptx::parse(name, &source)?)),
            Ok(source) => Ok(Input::Text(Text::parse(&name, &source)?)),
            Err(error) => {
                let offset = error.utf8_error().valid_up_to();
                bail!("{name}: offset {offset}: not text and no known format; expected {EXPECTED}")
            }
        }
    }
}

/// Text that is a listing of machine code, with its name for messages; `-` is standard input.
pub fn listing(path: &Path) -> Result<(String, String)> {
    let (name, bytes) = read_bytes(path)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok((name, text)),
        Err(error) => {
            let offset = error.utf8_error().valid_up_to();
            bail!("{name}: offset {offset}: not text; a listing has an instruction in each line")
        }
    }
}

const EXPECTED: &str = "the text IR, PTX, a cubin, a fatbinary, or an ELF file or archive that holds one";

impl Text {
    fn parse(name: &str, source: &str) -> Result<Text> {
        let functions = text::parse_annotated(source)
            .map_err(|error| Failure::Shown(error.render(name, source, std::io::stderr().is_terminal())))?;
        for f in functions.iter().map(|text| &text.function) {
            if let Err(broken) = verify::verify(f) {
                let list: Vec<String> = broken.iter().take(20).map(|v| format!("  {v}")).collect();
                let more = broken.len().saturating_sub(20);
                let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
                let list = list.join("\n");
                let message = format!("{name}: function `{}` is not well formed\n{list}{more}", f.name);
                return Err(Failure::Wrong(message).into());
            }
        }
        if functions.is_empty() {
            bail!("{name}: line 1: expected `func`, found the end of the text");
        }
        Ok(Text { name: name.to_owned(), functions })
    }

    /// Whether it is machine code: an instruction has control fields.
    pub fn is_machine_code(&self) -> bool {
        self.functions.iter().any(|text| text::has_control(&text.function))
    }

    /// Every name and architecture asked for has to be there.
    pub fn check(&self, selection: &Selection) -> Result<()> {
        let functions = self.functions.iter().map(|text| &text.function);
        let several = selection.check(functions.map(|f| (f.name.as_str(), f.arch.as_str())));
        say_several(&self.name, &several.with_context(|| self.name.clone())?);
        Ok(())
    }

    /// The functions that the user asked for; an unknown name is an error.
    pub fn functions(&self, selection: &Selection) -> Result<Vec<&Annotated>> {
        self.check(selection)?;
        Ok(self.functions.iter().filter(|text| is_selected(&text.function, selection)).collect())
    }
}

/// Whether a function of a text is selected.
pub fn is_selected(f: &Function, selection: &Selection) -> bool {
    selection.takes_name(&f.name) && selection.takes_arch(&f.arch)
}

impl Ptx {
    fn parse(name: String, source: &str) -> Result<Ptx> {
        let module = sassafras_ptx::Module::parse(source)
            .map_err(|error| Failure::Shown(error.render(&name, source, std::io::stderr().is_terminal())))?;
        Ok(Ptx { name, module: Box::new(module) })
    }

    /// Every name and architecture asked for has to be there.
    pub fn check(&self, selection: &Selection) -> Result<()> {
        let Some(arch) = self.module.target() else { bail!("{}: {}", self.name, sassafras::Error::NoTarget) };
        let functions = self.module.functions().iter().filter(|function| function.has_body());
        let several = selection.check(functions.map(|f| (self.module.text(f.name()), arch)));
        say_several(&self.name, &several.with_context(|| self.name.clone())?);
        Ok(())
    }
}

impl Binary {
    /// The sample.
    pub fn sample() -> Binary {
        Binary { name: "built-in sample".to_owned(), file: None, bytes: SAMPLE.to_vec().into() }
    }

    /// An ordinary file of a size that is worked with; whatever is in the way of that is told by who reads all of it.
    fn open(path: &Path) -> Option<Binary> {
        let metadata = std::fs::metadata(path).ok()?;
        if path == Path::new("-") || !metadata.is_file() || metadata.len() > MOST_BYTES {
            return None;
        }
        let mut file = std::fs::File::open(path).ok()?;
        let mut head = Vec::new();
        (&mut file).take(16).read_to_end(&mut head).ok()?;
        let file = Stored::new(file).ok()?;
        let name = path.display().to_string();
        is_binary(&head).then(|| Binary { name, file: Some(file), bytes: OnceLock::new() })
    }

    /// All of it, which stays in memory: for whoever makes a new version of the file, or compares two.
    pub fn bytes(&self) -> Result<&[u8]> {
        if let (Some(file), None) = (&self.file, self.bytes.get()) {
            let bytes = file.read_all().with_context(|| self.name.clone())?;
            return Ok(self.bytes.get_or_init(|| bytes));
        }
        Ok(self.bytes.get().map_or(&[], Vec::as_slice))
    }

    /// Finds the images of a file that is read piece by piece.
    pub fn library(&self) -> Result<Library<'_>> {
        let source = match (&self.file, self.bytes.get()) {
            (Some(file), None) => Source::File(file),
            (_, bytes) => Source::Memory(bytes.map_or(&[], Vec::as_slice)),
        };
        Library::parse(source).with_context(|| self.name.clone())
    }

    /// Calls `work` for every section that is selected, in parallel; the results are in file order.
    ///
    /// # Errors
    /// The first error in file order, whichever came first in time.
    pub fn visit<T: Send>(
        &self,
        library: &Library<'_>,
        selection: &Selection,
        work: impl Fn(&Site<'_, '_>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let work = |site: &Site<'_, '_>| work(site).map_err(Named);
        let visited = sites::visit(library, selection, &Bar::new(&self.name), work);
        let visited = visited.map_err(|error| error.of(&self.name))?;
        say_several(&self.name, &visited.several);
        Ok(visited.results)
    }

    /// As [`Binary::visit`], with the results of one cubin at a time handed to `take`, for much output.
    ///
    /// # Errors
    /// As [`Binary::visit`]; `take` may have been called before.
    pub fn stream<T: Send>(
        &self,
        library: &Library<'_>,
        selection: &Selection,
        work: impl Fn(&Site<'_, '_>) -> Result<T> + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let work = |site: &Site<'_, '_>| work(site).map_err(Named);
        let several = sites::stream(library, selection, work, |result| take(result).map_err(Named));
        say_several(&self.name, &several.map_err(|error| error.of(&self.name))?);
        Ok(())
    }

    /// Finds the images, with all of the file in memory.
    pub fn container(&self) -> Result<Container<'_>> {
        Container::parse(self.bytes()?).with_context(|| self.name.clone())
    }
}

/// An error of work on a file: one of the library still needs the file's name.
struct Named(anyhow::Error);

impl From<sassafras::Error> for Named {
    fn from(error: sassafras::Error) -> Named {
        Named(error.into())
    }
}

impl Named {
    fn of(self, file: &str) -> anyhow::Error {
        match self.0.downcast::<sassafras::Error>() {
            Ok(error) => crate::failure::of_library(file, error),
            Err(error) => error,
        }
    }
}

/// What a kind of file is called.
pub fn kind_name(kind: ContainerKind) -> &'static str {
    match kind {
        ContainerKind::Cubin => "cubin",
        ContainerKind::Fatbinary => "fatbinary",
        ContainerKind::Host => "host file",
        ContainerKind::Archive => "archive",
    }
}

/// The bytes of a file, or of standard input for `-`.
///
/// # Errors
/// When it cannot be read, is a device, or does not end within [`MOST_BYTES`].
pub fn read_bytes(path: &Path) -> Result<(String, Vec<u8>)> {
    if path == Path::new("-") {
        return Ok(("standard input".to_owned(), read_all("standard input", std::io::stdin().lock(), 0)?));
    }
    let name = path.display().to_string();
    let metadata = std::fs::metadata(path).with_context(|| name.clone())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_char_device() || kind.is_block_device() {
            bail!("{name}: a device, which need not end; name a file, or `-` for standard input");
        }
    }
    let file = std::fs::File::open(path).with_context(|| name.clone())?;
    let bytes = read_all(&name, file, metadata.len())?;
    Ok((name, bytes))
}

/// Larger than any library, and within what machines have: what goes on for longer has no end.
const MOST_BYTES: u64 = 4 << 30;

/// Reads to the end, which should come after about `expected` bytes.
fn read_all(name: &str, from: impl Read, expected: u64) -> Result<Vec<u8>> {
    let too_long = || anyhow!("{name}: more than {} GiB", MOST_BYTES >> 30);
    if expected > MOST_BYTES {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(expected as usize + 1).with_context(|| name.to_owned())?;
    from.take(MOST_BYTES + 1).read_to_end(&mut bytes).with_context(|| name.to_owned())?;
    if bytes.len() as u64 > MOST_BYTES { Err(too_long()) } else { Ok(bytes) }
}

/// Whether a text is PTX: nothing else has a version.
fn is_ptx(source: &str) -> bool {
    source.trim_start().starts_with(".version") || source.contains("\n.version")
}

/// Whether the first bytes are those of a format that holds device code.
fn is_binary(bytes: &[u8]) -> bool {
    const FATBINARY: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
    bytes.starts_with(b"\x7fELF") || bytes.starts_with(&FATBINARY) || bytes.starts_with(b"!<arch>\n")
}
