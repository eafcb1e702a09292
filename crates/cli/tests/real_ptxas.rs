//! The stand-in for ptxas behind nvcc, Triton and the real ptxas. Every output is verified against what ptxas alone makes.
#![cfg(all(unix, feature = "real-tools"))]

use sassafras_testkit::tools::{run, succeed, tool};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SASSAFRAS: &str = env!("CARGO_BIN_EXE_sassafras");
/// Orders that differ from ptxas's wherever they can, on every architecture.
const FLAGS: &str = "--strategy reverse --keep-capsules";

struct Scene {
    folder: TempDir,
}

impl Scene {
    /// A folder with a link to us that is called `ptxas`.
    fn new() -> Scene {
        let folder = tempfile::tempdir().expect("a folder");
        symlink(SASSAFRAS, folder.path().join("ptxas")).expect("linked");
        Scene { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program in the folder, with the variables of the stand-in set.
    fn call(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path());
        command.env("SASSAFRAS_CACHE_DIR", self.path("cache")).env("SASSAFRAS_FLAGS", FLAGS);
        for name in ["SASSAFRAS_PTXAS", "CUDA_HOME", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"] {
            command.env_remove(name);
        }
        command
    }

    /// The stand-in for a ptxas, called by its name.
    fn standin(&self, ptxas: &Path) -> Command {
        let mut command = self.call(&self.path("ptxas"));
        command.env("SASSAFRAS_PTXAS", ptxas);
        command
    }

    /// The verifier accepts one file as a reordering of another, and it is one.
    fn is_reordered(&self, new: &str, old: &str) {
        let against = succeed(self.call(Path::new(SASSAFRAS)).args(["verify", new, "--against", old]));
        let moved = against.split("a legal reordering: ").nth(1).expect(new);
        assert!(!moved.starts_with("0 "), "{new}: {against}");
    }

    fn same(&self, one: &str, other: &str) -> bool {
        std::fs::read(self.path(one)).expect(one) == std::fs::read(self.path(other)).expect(other)
    }
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).canonicalize().expect(path)
}

/// A file that ptxas 13 takes.
fn ptx() -> PathBuf {
    here("crates/control/tests/ptx/shared_reduce.ptx")
}

#[test]
fn nvcc_with_a_prefix_or_a_folder_of_links() {
    let (scene, nvcc) = (Scene::new(), tool("nvcc", "13."));
    let prefix = format!("--ptxas-prefix={SASSAFRAS}");
    for name in ["softmax", "sgemm_tile64"] {
        let source = here(&format!("corpus/cuda/{name}.cu"));
        let build = |options: &[&str], out: &str| {
            succeed(scene.call(&nvcc).args(options).arg(&source).args(["-cubin", "-arch=sm_90", "-o", out]))
        };
        build(&[], "plain.cubin");
        let said = build(&[&prefix], "ours.cubin");
        assert!(said.starts_with("sassafras: ") && said.lines().count() == 1, "{said}");
        scene.is_reordered("ours.cubin", "plain.cubin");
    }
    // nvcc looks for its tools where it was called from.
    let toolkit = nvcc.parent().and_then(Path::parent).expect("a toolkit");
    std::fs::create_dir_all(scene.path("toolkit/bin")).expect("made");
    for folder in std::fs::read_dir(toolkit).expect("a folder").flatten().filter(|f| f.file_name() != "bin") {
        symlink(folder.path(), scene.path("toolkit").join(folder.file_name())).expect("linked");
    }
    for program in std::fs::read_dir(toolkit.join("bin")).expect("a folder").flatten() {
        let ours = program.file_name() == "ptxas";
        let target = if ours { PathBuf::from(SASSAFRAS) } else { program.path() };
        symlink(target, scene.path("toolkit/bin").join(program.file_name())).expect("linked");
    }
    // Two architectures, in a fatbinary.
    let source = here("corpus/cuda/softmax.cu");
    let archs = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90"];
    let build = |nvcc: &Path, out: &str| {
        let mut command = scene.call(nvcc);
        command.env("SASSAFRAS_PTXAS", toolkit.join("bin/ptxas"));
        succeed(command.args(archs).arg(&source).args(["-fatbin", "-o", out]))
    };
    build(&nvcc, "plain.fatbin");
    let said = build(&scene.path("toolkit/bin/nvcc"), "ours.fatbin");
    assert_eq!(said.lines().filter(|line| line.starts_with("sassafras: ")).count(), 2, "{said}");
    scene.is_reordered("ours.fatbin", "plain.fatbin");
}

#[test]
fn nvcc_links_relocatable_code() {
    let (scene, nvcc) = (Scene::new(), tool("nvcc", "13."));
    let caller = "__device__ float scale(float x, int n);\n\
        __global__ void apply(float *out, const float *in, int n) {\n\
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = scale(in[i], n) * in[2 * i] + 1.0f; }\n\
        int main() { apply<<<1, 32>>>(nullptr, nullptr, 0); }\n";
    let callee = "__device__ float scale(float x, int n) {\n\
        float s = 0, t = x; for (int i = 0; i < n; ++i) { s = s * x + 0.5f; t = t * s + x; } return s + t; }\n";
    std::fs::write(scene.path("caller.cu"), caller).expect("written");
    std::fs::write(scene.path("callee.cu"), callee).expect("written");
    let prefix = format!("--ptxas-prefix={SASSAFRAS}");
    for name in ["caller", "callee"] {
        for (option, kind) in [("-O3", "plain"), (&prefix, "ours")] {
            let (source, out) = (format!("{name}.cu"), format!("{name}.{kind}.cubin"));
            let arguments = [option, "-rdc=true", "-cubin", "-arch=sm_90", &source, "-o", &out];
            succeed(scene.call(&nvcc).args(arguments));
        }
        scene.is_reordered(&format!("{name}.ours.cubin"), &format!("{name}.plain.cubin"));
    }
    let nvlink = tool("nvlink", "13.");
    for kind in ["plain", "ours"] {
        let files = ["caller", "callee"].map(|name| format!("{name}.{kind}.cubin"));
        let out = format!("linked.{kind}.cubin");
        succeed(scene.call(&nvlink).arg("--arch=sm_90").args(files).args(["-o", &out]));
    }
    scene.is_reordered("linked.ours.cubin", "linked.plain.cubin");
    // All of it in one go; there need be no GPU to link it.
    let arguments = [&prefix, "-rdc=true", "-arch=sm_90", "caller.cu", "callee.cu", "-o", "program"];
    let said = succeed(scene.call(&nvcc).args(arguments));
    assert_eq!(said.matches("verified").count(), 2, "{said}");
    succeed(scene.call(Path::new(SASSAFRAS)).args(["verify", "program"]));
}

#[test]
fn triton_compiles_through_it() {
    let scene = Scene::new();
    let tools = PathBuf::from(std::env::var_os("SASSAFRAS_TOOLS").expect("set by `cargo xtask test`"));
    let packages = tools.join("triton34/site-packages");
    let own = packages.join("triton/backends/nvidia/bin/ptxas");
    let compile = |out: &str, path: Option<PathBuf>| {
        let mut python = scene.call(Path::new("python3"));
        python.arg(here("corpus/triton_compile.py")).arg(here("corpus/triton")).arg(out);
        python.args(["80:softmax", "90:softmax", "100:softmax"]);
        python.env("PYTHONPATH", &packages).env("PYTHONDONTWRITEBYTECODE", "1").env("SASSAFRAS_PTXAS", &own);
        python.env("TRITON_HOME", scene.path(&format!("{out}-home"))).env_remove("TRITON_CACHE_DIR");
        python.envs(path.map(|path| ("TRITON_PTXAS_PATH", path)));
        succeed(&mut python)
    };
    compile("plain", None);
    compile("ours", Some(scene.path("ptxas")));
    for arch in ["80", "90", "100"] {
        scene.is_reordered(&format!("ours/{arch}/softmax.cubin"), &format!("plain/{arch}/softmax.cubin"));
    }
}

/// Every way to say where the output goes, and other forms of output.
#[test]
fn ptxas_writes_where_it_would() {
    let (scene, ptxas) = (Scene::new(), tool("ptxas", "13."));
    std::fs::copy(ptx(), scene.path("k.ptx")).expect("copied");
    std::fs::write(scene.path("options"), "-arch=sm_90\n-o \"with blank\"\n").expect("written");
    let second = std::fs::read_to_string(ptx()).expect("text");
    let name =
        second.split(".entry ").nth(1).and_then(|rest| rest.split('(').next()).expect("an entry").to_owned();
    let second = second.replace(name.trim(), "second_kernel");
    std::fs::write(scene.path("second.ptx"), second).expect("written");
    for (arguments, out) in [
        (&["-arch=sm_90", "k.ptx"][..], "elf.o"),
        (&["-arch=sm_90", "k.ptx", "-o", "k.cubin"], "k.cubin"),
        (&["-arch=sm_90", "k.ptx", "--output-file=k.cubin"], "k.cubin"),
        (&["-arch=sm_90", "k.ptx", "-o", "-"], "-"),
        (&["-optf", "options", "k.ptx"], "with blank"),
        (&["-arch=sm_90", "-c", "k.ptx", "-o", "k.o"], "k.o"),
        (&["-arch=sm_90", "-lineinfo", "k.ptx", "-o", "k.cubin"], "k.cubin"),
        (&["-arch=sm_120", "-v", "k.ptx", "-o", "k.cubin"], "k.cubin"),
        (&["-arch=sm_75", "k.ptx", "second.ptx", "-o", "both.cubin"], "both.cubin"),
    ] {
        let said = succeed(scene.call(&ptxas).args(arguments));
        std::fs::rename(scene.path(out), scene.path("plain")).expect("written");
        let ours = succeed(scene.standin(&ptxas).args(arguments));
        let (first, last) = ours.split_at(ours.rfind("sassafras: ").expect("a line"));
        let without_times = |text: &str| {
            text.lines().filter(|line| !line.contains("Compile time")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(without_times(first), without_times(&said), "{arguments:?}");
        assert!(last.contains(": 1 of 1 ") || last.contains(": 2 of 2 "), "{arguments:?}: {last}");
        // A path that starts with a dash is an option to us, too.
        std::fs::rename(scene.path(out), scene.path("ours")).expect("written");
        scene.is_reordered("ours", "plain");
    }
}

#[test]
fn ptxas_without_a_cubin_is_left_alone() {
    let (scene, ptxas) = (Scene::new(), tool("ptxas", "13."));
    std::fs::copy(ptx(), scene.path("k.ptx")).expect("copied");
    succeed(scene.call(&ptxas).args(["-arch=sm_90", "k.ptx", "-o", "before"]));
    std::fs::copy(scene.path("before"), scene.path("k.cubin")).expect("copied");
    // Only parsed; what is there from before stays.
    for arguments in
        [&["-arch=compute_90", "k.ptx", "-o", "k.cubin"][..], &["--version"], &["--help"], &["--list-arch"]]
    {
        let (plain, ours) =
            (run(scene.call(&ptxas).args(arguments)), run(scene.standin(&ptxas).args(arguments)));
        assert_eq!((plain.status, plain.stdout, plain.stderr), (ours.status, ours.stdout, ours.stderr));
        assert!(scene.same("k.cubin", "before"), "{arguments:?}");
    }
    // Errors are ptxas's.
    for arguments in [&["-arch=sm_90", "nowhere.ptx", "-o", "x"][..], &["-oX", "k.ptx"], &["k.ptx", "-o"]] {
        let (plain, ours) =
            (run(scene.call(&ptxas).args(arguments)), run(scene.standin(&ptxas).args(arguments)));
        assert_eq!((plain.status, plain.stdout, plain.stderr), (ours.status, ours.stdout, ours.stderr));
    }
    // Full debug data cannot follow the code.
    let debug = succeed(scene.standin(&ptxas).args(["-arch=sm_90", "-g", "k.ptx", "-o", "debug.cubin"]));
    std::fs::rename(scene.path("debug.cubin"), scene.path("ours.cubin")).expect("written");
    // With -g the name of the output is in it.
    succeed(scene.call(&ptxas).args(["-arch=sm_90", "-g", "k.ptx", "-o", "debug.cubin"]));
    assert!(debug.contains("kept: ") && scene.same("ours.cubin", "debug.cubin"), "{debug}");
}

#[test]
fn eight_at_once_share_a_cache() {
    let (scene, ptxas) = (Scene::new(), tool("ptxas", "13."));
    std::fs::copy(ptx(), scene.path("k.ptx")).expect("copied");
    succeed(scene.call(&ptxas).args(["-arch=sm_90", "k.ptx", "-o", "plain.cubin"]));
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (scene, ptxas) = (&scene, &ptxas);
            scope.spawn(move || {
                for round in 0..2 {
                    let out = format!("{number}-{round}.cubin");
                    succeed(scene.standin(ptxas).args(["-arch=sm_90", "k.ptx", "-o", &out]));
                }
            });
        }
    });
    scene.is_reordered("0-0.cubin", "plain.cubin");
    for (number, round) in (0..8).flat_map(|number| [(number, 0), (number, 1)]) {
        assert!(scene.same("0-0.cubin", &format!("{number}-{round}.cubin")), "{number} {round}");
    }
    let again = succeed(scene.standin(&ptxas).args(["-arch=sm_90", "k.ptx", "-o", "k.cubin"]));
    assert!(again.contains("(cached)"), "{again}");
}
