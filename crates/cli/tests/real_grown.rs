//! Host files that grow, as nvcc and ld make them: rescheduled, verified, read by binutils and cuobjdump, and loaded.
#![cfg(all(target_os = "linux", target_arch = "x86_64", feature = "real-tools"))]

use sassafras_testkit::tools::{run, succeed, tool};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SASSAFRAS: &str = env!("CARGO_BIN_EXE_sassafras");

/// Two parts, so that there are two fatbinaries with wrappers of their own, and zeros that have to stay zeros.
const FIRST: &str = r#"
#include <cuda_runtime.h>
static int zeros[5000];
template <int N> __global__ void steps(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], y = in[i + n], s = 0;
    for (int k = 0; k < N; ++k) { s = s * x + y; y = y * 0.5f + in[i + k]; x += in[2 * i + k]; }
    out[i] = s;
}
extern "C" int launch() {
    steps<3><<<1, 32>>>(nullptr, nullptr, 0);
    steps<7><<<1, 32>>>(nullptr, nullptr, 0);
    steps<11><<<1, 32>>>(nullptr, nullptr, 0);
    return cudaGetLastError();
}
extern "C" int nonzero() { int found = 0; for (int z : zeros) found += z != 0; zeros[7] += found; return found; }
"#;
const SECOND: &str = r#"
extern "C" int launch();
extern "C" int nonzero();
__global__ void mixed(unsigned *out, const unsigned *in, int n) {
    __shared__ unsigned part[64];
    int i = threadIdx.x;
    unsigned a = in[i], b = in[i + 64], c = in[i + 128];
    part[i] = a * b + c;
    __syncthreads();
    out[i] = part[63 - i] * a + (part[(i + 1) % 64] ^ b) + n;
}
int main() { mixed<<<1, 64>>>(nullptr, nullptr, 0); launch(); return nonzero(); }
"#;

/// Follows the wrappers of a library in memory: each leads to a fatbinary, inside the sections that hold them.
const FOLLOW: &str = r#"
import ctypes, os, struct, sys
path = os.path.realpath(sys.argv[1])
library = ctypes.CDLL(path, mode=os.RTLD_LAZY)
data = open(path, "rb").read()
table, = struct.unpack_from("<Q", data, 40)
count, names = struct.unpack_from("<HH", data, 60)
headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]
named = {data[headers[names][4] + h[0]:].split(b"\0", 1)[0].decode(): h for h in headers}
base = next(int(l.split("-")[0], 16) for l in open("/proc/self/maps") if l.rstrip().endswith(path))
device = [named[n] for n in (".nv_fatbin", "__nv_relfatbin") if n in named]
segment = named[".nvFatBinSegment"]
for at in range(segment[3], segment[3] + segment[5], 24):
    magic, version, pointer, _ = struct.unpack("<IIQQ", ctypes.string_at(base + at, 24))
    assert magic == 0x466243b1, hex(magic)
    home = [h for h in device if h[3] <= pointer - base < h[3] + h[5]]
    assert len(home) == 1, hex(pointer - base)
    offset = home[0][4] + (pointer - base - home[0][3])
    size = 16 + struct.unpack_from("<Q", data, offset + 8)[0]
    assert ctypes.string_at(pointer, size) == data[offset:offset + size]
    assert data[offset:offset + 4] == bytes.fromhex("50ed55ba")
if hasattr(library, "nonzero"):
    assert library.nonzero() == 0
print("followed", segment[5] // 24)
"#;

/// Resources one behind the other, two of them fatbinaries, and pairs of pointers (end, begin) for code that wants them.
const RESOURCES: &str = r#"
 .section .resources,"a",@progbits
 .balign 8
first: .quad 1, 2, 3
second: .incbin "first.fatbin"
 .quad 0
third: .incbin "second.fatbin"
 .quad 0
fourth: .ascii "what else is there, and does not change."
last:
 .data
 .balign 8
 .globl pairs
pairs: .quad second, first, third, second, fourth, third, last, fourth
 .bss
 .globl zeros
zeros: .zero 5000
 .section .note.GNU-stack,"",@progbits
"#;

/// Asks for the resources of a library in memory: each is there with its size, and the fatbinaries are those of the file.
const ASK: &str = r#"
import ctypes, os, sys
path = os.path.realpath(sys.argv[1])
library = ctypes.CDLL(path, mode=os.RTLD_LAZY)
data = open(path, "rb").read()
pairs = (ctypes.c_uint64 * 8).in_dll(library, "pairs")
found = [ctypes.string_at(pairs[i + 1], pairs[i] - pairs[i + 1]) for i in range(0, 8, 2)]
assert found[0] == b"".join(n.to_bytes(8, "little") for n in (1, 2, 3))
assert found[3] == b"what else is there, and does not change."
for fatbinary in found[1:3]:
    assert fatbinary[:4] == bytes.fromhex("50ed55ba") and fatbinary[-8:] == bytes(8)
    assert len(fatbinary) == 16 + int.from_bytes(fatbinary[8:16], "little") + 8
    assert fatbinary in data
assert not any((ctypes.c_char * 5000).in_dll(library, "zeros").raw)
print("asked", sum(map(len, found)))
"#;

struct Scene {
    folder: TempDir,
}

impl Scene {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn call(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.folder.path());
        command
    }

    fn build(&self, out: &str, options: &[&str]) {
        let mut command = self.call(tool("nvcc", "13."));
        command.args(["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90"]);
        command.args(["-Xfatbin=-compress-all,-compress-mode=size", "-cudart=static", "-Xcompiler=-fPIC"]);
        succeed(command.args(options).args(["first.cu", "second.cu", "-o", out]));
    }

    /// Reschedules everything; the file has to grow for it, and no kernel may stay as it came.
    fn grow(&self, old: &str, new: &str) -> u64 {
        let arguments = ["schedule", "--json", "--strategy", "reverse", "--keep-capsules", old, "-o", new];
        let done = run(self.call(SASSAFRAS).args(arguments));
        assert!(done.status.success(), "{old}: {}", String::from_utf8_lossy(&done.stderr));
        let report: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
        let kernels = report["kernels"].as_array().expect("kernels");
        let kept: Vec<&str> = kernels.iter().filter_map(|kernel| kernel["kept"].as_str()).collect();
        assert!(kept.is_empty(), "{old}: {kept:?}");
        let size = |name: &str| std::fs::metadata(self.path(name)).expect("there").len();
        assert!(size(new) > size(old), "{old} did not grow");
        succeed(self.call(SASSAFRAS).args(["verify", "--against", old, new]));
        kernels.len() as u64
    }

    /// What binutils say: no warnings.
    fn is_well_formed(&self, new: &str) {
        let said = run(self.call("readelf").args(["-lSWrsd", new]));
        assert!(said.status.success() && said.stderr.is_empty(), "{}", String::from_utf8_lossy(&said.stderr));
        let text = String::from_utf8_lossy(&said.stdout).to_lowercase();
        assert!(!text.contains("warning") && !text.contains("<corrupt"), "{text}");
    }

    /// The same of cuobjdump: the images are the same, in the stripped file, too.
    fn is_readable(&self, old: &str, new: &str) {
        self.is_well_formed(new);
        let listed = |file: &str| {
            let text = succeed(self.call(tool("cuobjdump", "13.")).args(["--list-elf", file]));
            let stem = Path::new(file).file_stem().expect("a name").to_string_lossy().into_owned();
            text.replace(&stem, "file")
        };
        assert_eq!(listed(old), listed(new));
        std::fs::copy(self.path(new), self.path("stripped")).expect("copied");
        succeed(self.call("strip").arg("stripped"));
        assert_eq!(listed(old), listed("stripped"));
    }

    fn is_followed(&self, file: &str, wrappers: usize) {
        let mut command = self.call("python3");
        let said = succeed(command.args(["-c", FOLLOW, &format!("./{file}")]));
        assert_eq!(said.trim(), format!("followed {wrappers}"));
    }
}

fn scene() -> Scene {
    let scene = Scene { folder: tempfile::tempdir().expect("a folder") };
    std::fs::write(scene.path("first.cu"), FIRST).expect("written");
    std::fs::write(scene.path("second.cu"), SECOND).expect("written");
    scene
}

#[test]
fn shared_libraries() {
    let scene = scene();
    // Relocations with addends, packed ones, and device code that was linked from parts, in two sections.
    let forms: [(&[&str], u64); 3] = [
        (&["-shared"], 8),
        (&["-shared", "-Xlinker", "-z,pack-relative-relocs"], 8),
        (&["-shared", "-rdc=true"], 8),
    ];
    for (options, kernels) in forms {
        scene.build("plain.so", options);
        assert_eq!(scene.grow("plain.so", "grown.so"), kernels, "{options:?}");
        scene.is_readable("plain.so", "grown.so");
        for file in ["plain.so", "grown.so", "stripped"] {
            // Two of the parts, one of nvcc.
            scene.is_followed(file, 3);
        }
    }
}

/// Fatbinaries in a section of resources that pairs of pointers delimit.
#[test]
fn resources() {
    let scene = scene();
    std::fs::write(scene.path("resources.s"), RESOURCES).expect("written");
    for source in ["first", "second"] {
        let mut command = scene.call(tool("nvcc", "13."));
        command.args(["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90"]);
        command.args(["-Xfatbin=-compress-all,-compress-mode=size", "-fatbin"]);
        succeed(command.args([&format!("{source}.cu"), "-o", &format!("{source}.fatbin")]));
    }
    for options in [&[][..], &["-Wl,-z,pack-relative-relocs"]] {
        let mut command = scene.call("gcc");
        succeed(command.args(["-shared", "-nostdlib", "resources.s", "-o", "plain.so"]).args(options));
        assert_eq!(scene.grow("plain.so", "grown.so"), 8, "{options:?}");
        scene.is_well_formed("grown.so");
        std::fs::copy(scene.path("grown.so"), scene.path("stripped")).expect("copied");
        succeed(scene.call("strip").arg("stripped"));
        let asked = ["plain.so", "grown.so", "stripped"].map(|file| {
            let mut command = scene.call("python3");
            succeed(command.args(["-c", ASK, &format!("./{file}")]))
        });
        assert!(asked[0] != asked[1] && asked[1] == asked[2], "{asked:?}");
    }
}

#[cfg(unix)]
#[test]
fn executables() {
    use std::os::unix::fs::PermissionsExt;
    let scene = scene();
    for options in [&["-Xcompiler=-fPIE", "-Xlinker=-pie"][..], &["-Xcompiler=-no-pie", "-Xlinker=-no-pie"]] {
        scene.build("plain", options);
        scene.grow("plain", "grown");
        scene.is_readable("plain", "grown");
        for file in ["plain", "grown", "stripped"] {
            let path = scene.path(file);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
            // Zero where zeros are zeros; launches fail without a GPU, which is nobody's fault.
            succeed(&mut scene.call(path));
        }
    }
}

/// A library of others whose entries are compressed as small as can be: all kernels are rescheduled, and it loads.
#[test]
fn a_library_that_is_compressed_well() {
    let corpus = std::env::var_os("SASSAFRAS_CORPUS").expect("set by `cargo xtask test`");
    let scene = scene();
    let library = Path::new(&corpus).join("wheels/libbitsandbytes_cuda130.so");
    std::fs::copy(library, scene.path("plain.so")).expect("copied");
    assert_eq!(scene.grow("plain.so", "grown.so"), 1437);
    scene.is_readable("plain.so", "grown.so");
    // It needs the runtime, and libraries that a stand-in without functions is enough for as long as nobody calls them.
    let toolkit = tool("nvcc", "13.");
    let toolkit = toolkit.parent().and_then(Path::parent).expect("a toolkit").join("lib");
    for name in ["libcublas.so.13", "libcublasLt.so.13"] {
        std::fs::write(scene.path("versions"), format!("{name} {{ }};")).expect("written");
        let options = ["-shared", "-nostdlib", "-Wl,--version-script,versions", "-x", "c", "/dev/null"];
        succeed(scene.call("gcc").args(options).arg(format!("-Wl,-soname,{name}")).args(["-o", name]));
    }
    for file in ["plain.so", "grown.so", "stripped"] {
        let mut command = scene.call("python3");
        command.env("LD_LIBRARY_PATH", format!("{}:{}", scene.folder.path().display(), toolkit.display()));
        let said = succeed(command.args(["-c", FOLLOW, &format!("./{file}")]));
        assert_eq!(said.trim(), "followed 7");
    }
}
