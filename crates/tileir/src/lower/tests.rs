//! Small loops.

use super::*;
use crate::program::{Execution, Operand, Order, Persistent, Storage, parse, print};

const TILE: &str = "tile<64x64xf32>";

/// Lowers the loops of an entry whose first lines define `%t`, `%zero`, `%half`, `%one`, `%n` and `%v`.
fn loops(lines: &str, arch: u32) -> Vec<Lowered> {
    loops_by(lines, arch, Model::Hardware)
}

fn loops_by(lines: &str, arch: u32, model: Model) -> Vec<Lowered> {
    let text = format!(
        "entry @k(%n: tile<i32>, %v: v, %x: {TILE}, %f: tile<f32>) {{
  %t = make_token : token
  %zero = constant <f32: 0.0> : {TILE}
  %from = constant <i32: 2> : tile<i32>
  %step = constant <i32: 3> : tile<i32>
  %to = constant <i32: 10> : tile<i32>
{lines}
  return
}}
"
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let found = lower(&module, arch, model);
    for program in found.iter().filter_map(|l| l.program.as_ref().ok()) {
        let text = print(program);
        assert_eq!(parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")), std::slice::from_ref(program));
    }
    found
}

/// A loop over carried tiles of 64x64 that begin with zeros.
fn carrying(names: &[&str], body: &str, arch: u32) -> Lowered {
    carrying_by(names, body, arch, Model::Hardware)
}

fn carrying_by(names: &[&str], body: &str, arch: u32, model: Model) -> Lowered {
    let header = match names {
        [] => String::new(),
        _ => {
            let initial: Vec<String> = names.iter().map(|n| format!("%{n} = %zero")).collect();
            format!(" iter_values({}) -> ({})", initial.join(", "), vec![TILE; names.len()].join(", "))
        }
    };
    let results = match names.len() {
        0 => String::new(),
        n => format!("%r:{n} = "),
    };
    let lines =
        format!("  {results}for %i in (%from to %n, step %step) : tile<i32>{header} {{\n{body}\n  }}");
    loops_by(&lines, arch, model).remove(0)
}

fn sound(lowered: Lowered) -> Program {
    lowered.program.unwrap_or_else(|e| panic!("{e}"))
}

fn refused(lowered: Lowered) -> String {
    lowered.program.expect_err("no program").to_string()
}

/// The operands of an operation as text: `x[-1]!` for one in place.
fn operands(program: &Program, op: &str) -> Vec<String> {
    let op = program.op(op).unwrap_or_else(|| panic!("no `{op}`\n{}", print(program)));
    let shown = |o: &Operand| {
        let distance = if o.distance > 0 { format!("[-{}]", o.distance) } else { String::new() };
        format!("{}{distance}{}", program.values[o.value].name, if o.in_place { "!" } else { "" })
    };
    program.ops[op].operands.iter().map(shown).collect()
}

fn kinds(program: &Program) -> Vec<&str> {
    program.ops.values().map(|op| op.kind.as_str()).collect()
}

#[test]
fn carried_values_are_operands_of_earlier_iterations() {
    let body = format!(
        "    %s = addf %a, %c : {TILE}
    %u = mulf %b, %d : {TILE}
    %w = addf %u, %s : {TILE}
    continue %b, %s, %s, %d : {TILE}, {TILE}, {TILE}, {TILE}"
    );
    let program = sound(carrying(&["a", "b", "c", "d"], &body, 90));
    // `%a` is what `%b` was one iteration before; `%d` never changes and is a constant.
    assert_eq!(operands(&program, "addf_s"), ["s[-2]", "s[-1]"]);
    // The product has one reader and is computed with it.
    assert_eq!(operands(&program, "addf_w"), ["s[-1]", "s"]);
    assert_eq!(program.op("mulf_u"), None);
    assert_eq!((program.arch.as_deref(), program.trips), (Some("sm_90"), None));
}

#[test]
fn chains_of_elements_are_one_operation() {
    let body = format!(
        "    %p = mulf %x, %x : {TILE}
    %q = addf %p, %x : {TILE}
    %e = exp2 %q : {TILE}
    %m = maxf %e, %x : {TILE}
    %s = addf %e, %a : {TILE}
    %u = mulf %m, %x : {TILE}
    %w = addf %u, %b : {TILE}
    continue %s, %w : {TILE}, {TILE}"
    );
    let program = sound(carrying(&["a", "b"], &body, 90));
    // `%e` has two readers and stays; what leads to it is one operation, and so is what leads away from it, up to the sum that the
    // loop carries: that would take longer around the loop.
    assert_eq!(operands(&program, "exp2_e"), ["x"]);
    assert_eq!(operands(&program, "addf_s"), ["e", "s[-1]!"]);
    assert_eq!(operands(&program, "mulf_u"), ["e", "x"]);
    assert_eq!(operands(&program, "addf_w"), ["u", "w[-1]!"]);
    assert_eq!(program.ops.len(), 4);
    let held = |name: &str, slot: &str| {
        let op = &program.ops[program.op(name).expect("an operation")];
        let of = op.holds.iter().filter(|h| program.resources[h.resource].name == slot);
        of.map(|h| h.rows).sum::<u32>()
    };
    // Two of `%p` and `%q` where `%s` has one; special functions and the rest beside each other.
    assert_eq!(held("exp2_e", "alu_or_fmaheavy"), 2 * held("addf_s", "alu_or_fmaheavy"));
    assert_eq!(held("exp2_e", "issue"), 3 * held("addf_s", "issue"));
    assert!(held("exp2_e", "xu") > 0 && held("mulf_u", "alu") > 0);
    assert!(program.values.values().all(|v| !["p", "q", "m"].contains(&v.name.as_str())));
}

#[test]
fn accumulators_are_in_place() {
    let body = format!(
        "    %p, %o = load_view_tko weak %v[%i] token = %t : v, tile<i32> -> tile<64x64xf16>, token
    %scaled = mulf %acc, %m : {TILE}
    %new = mmaf %p, %p, %scaled : tile<64x64xf16>, tile<64x64xf16>, {TILE}
    %max = maxf %m, %x : {TILE}
    continue %new, %max : {TILE}, {TILE}"
    );
    let program = sound(carrying(&["acc", "m"], &body, 90));
    assert_eq!(operands(&program, "mulf_scaled"), ["new[-1]!", "max[-1]"]);
    assert_eq!(operands(&program, "mma_new"), ["p", "p", "scaled!"]);
    assert_eq!(operands(&program, "maxf_max"), ["max[-1]!", "x"]);
    let mma = &program.ops[program.op("mma_new").expect("an operation")];
    assert_eq!((mma.kind.as_str(), mma.execution), ("wgmma", Execution::InOrder));
    // Whoever gives out storage counts values from before the loop: budgets are the architecture's.
    assert_eq!(program.budgets, []);

    let program = sound(carrying(&["acc", "m"], &body, 100));
    assert_eq!(operands(&program, "tmem_load_new"), ["new[-1]"]);
    assert_eq!(operands(&program, "mulf_scaled"), ["new_reg", "max[-1]"]);
    assert_eq!(operands(&program, "tmem_store_scaled"), ["scaled", "new[-1]!"]);
    assert_eq!(operands(&program, "mma_new"), ["p", "p", "scaled_tmem!"]);

    let program = sound(carrying(&["acc", "m"], &body, 80));
    assert_eq!(kinds(&program), ["cp_async", "simt", "mma_sync", "simt"]);
}

#[test]
fn what_is_wanted_later_is_not_overwritten() {
    // `%a` is read after the sum; `%b` two iterations later.
    let body = format!(
        "    %s = addf %a, %x : {TILE}
    %d = subf %a, %s : {TILE}
    %u = addf %b, %c : {TILE}
    continue %s, %u, %b : {TILE}, {TILE}, {TILE}"
    );
    let program = sound(carrying(&["a", "b", "c"], &body, 90));
    assert_eq!(operands(&program, "addf_s"), ["s[-1]", "x"]);
    assert_eq!(operands(&program, "addf_u"), ["u[-1]", "u[-2]"]);
    // A chain that does not come back to itself is no accumulator.
    let body = format!(
        "    %s = addf %a, %x : {TILE}
    %u = subf %x, %x : {TILE}
    continue %u : {TILE}"
    );
    let program = sound(carrying(&["a"], &body, 90));
    assert_eq!(operands(&program, "addf_s"), ["u[-1]", "x"]);
}

#[test]
fn operands_of_products_are_where_the_hardware_reads_them() {
    let body = "    %p, %o = load_view_tko weak %v[%i] token = %t : v, tile<i32> -> tile<64x64xf16>, token
    %a = addf %p, %p : tile<64x64xf16>
    %b = permute %p [1, 0] : tile<64x64xf16> -> tile<64x64xf16>
    %c = mulf %p, %p : tile<64x64xf16>
    %m1 = mmaf %a, %b, %zero : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    %m2 = mmaf %b, %c, %x : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue";
    let program = sound(carrying(&[], body, 90));
    assert_eq!(operands(&program, "mma_m1"), ["a", "p"]);
    assert_eq!(operands(&program, "mma_m2"), ["p", "c_smem", "x"]);
    let program = sound(carrying(&[], body, 100));
    assert_eq!(operands(&program, "mma_m1"), ["a_smem", "p"]);
    assert_eq!(operands(&program, "mma_m2"), ["p", "c_smem", "x"]);
    let program = sound(carrying(&[], body, 80));
    assert_eq!(operands(&program, "mma_m1"), ["a", "p", "fragments"]);
    assert_eq!(operands(&program, "mma_m2"), ["p", "c_smem", "fragments", "x"]);
    // Two slices of 16 rows or columns of both operands of the second product, which reads two.
    let fragments = program.values.values().find(|v| v.name == "fragments").map(|v| (v.storage, v.bytes));
    assert_eq!(fragments, Some((Storage::Register, 2 * 2 * 64 * 16 * 2)));
    // It holds what moves them beside what multiplies.
    let held = |name: &str, slot: &str| {
        let op = &program.ops[program.op(name).expect("an operation")];
        op.holds.iter().filter(|h| program.resources[h.resource].name == slot).map(|h| h.rows).sum::<u32>()
    };
    assert_eq!(held("mma_m2", "tp_smem_rd"), 2 * held("mma_m1", "tp_smem_rd"));
    assert_eq!(held("mma_m1", "tp_smem_rd"), held("read_p", "tp_smem_rd"));
    assert_eq!(held("mma_m1", "tc_and_mma"), held("mma_m2", "tc_and_mma"));
    // Documented costs are of single operations: whole operands are moved before the product.
    let program = sound(carrying_by(&[], body, 80, Model::Documented));
    assert_eq!(operands(&program, "mma_m1"), ["a", "p_reg"]);
    assert_eq!(operands(&program, "mma_m2"), ["p_reg", "c_smem_reg", "x"]);
}

#[test]
fn stores_go_through_shared_memory_and_tokens_order() {
    let body = "    %p, %o = load_view_tko weak %v[%i] token = %c : v, tile<i32> -> tile<64x64xf32>, token
    %q = permute %p [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
    %s = store_view_tko weak %q, %v[%i] token = %o : tile<64x64xf32>, v, tile<i32> -> token
    %u = store_view_tko weak %p, %v[%i] token = %t : tile<64x64xf32>, v, tile<i32> -> token
    %j = join_tokens %s, %c : token
    continue %j : token";
    let lines = format!(
        "  %r = for %i in (%from to %to, step %step) : tile<i32> iter_values(%c = %t) -> (token) {{\n{body}\n  }}"
    );
    let program = sound(loops(&lines, 90).remove(0));
    assert_eq!(kinds(&program), ["tma_load", "smem_read", "smem_write", "tma_store", "tma_store"]);
    assert_eq!(operands(&program, "store_s"), ["p_reg_smem"]);
    assert_eq!(operands(&program, "store_u"), ["p"]);
    let [load, store] = ["load_p", "store_s"].map(|name| program.op(name).expect("an operation"));
    let order = |from, to, distance| Order { from, to, latency: 0, distance };
    assert_eq!(program.orders, [order(store, load, 1), order(load, store, 0)]);
    assert_eq!(program.trips, Some(3));
    let program = sound(loops(&lines, 80).remove(0));
    assert_eq!(kinds(&program), ["cp_async", "smem_read", "simt_store", "simt_store"]);
    assert_eq!(program.orders[0].latency, 809);
}

#[test]
fn numbers_of_the_index_are_left_out() {
    let body = format!(
        "    %j = addi %i, %from : tile<i32>
    %k = muli %j, %j : tile<i32>
    %c = cmpi less_than %k, %n, signed : tile<i32> -> tile<i1>
    %a, %o = load_view_tko weak %v[%k] token = %t : v, tile<i32> -> {TILE}, token
    %m = reduce %a dim=1 identities=[0.0 : f32] : {TILE} -> tile<64xf32>
    (%l: tile<f32>, %r0: tile<f32>) {{
      %z = maxf %l, %r0 : tile<f32>
      yield %z : tile<f32>
    }}
    %y = if %c -> ({TILE}) {{
      %b = broadcast %f : tile<f32> -> {TILE}
      %w = mulf %a, %b : {TILE}
      yield %w : {TILE}
    }} else {{
      yield %x : {TILE}
    }}
    continue"
    );
    let program = sound(carrying(&[], &body, 90));
    assert_eq!(kinds(&program), ["tma_load", "smem_read", "simt", "simt"]);
    assert_eq!(operands(&program, "reduce_m"), ["a_reg"]);
    assert_eq!(operands(&program, "if_y"), ["f", "a_reg", "x"]);
}

#[test]
fn attributes_come_through() {
    let hints = "optimization_hints = <sm_100 = {nv_tile.aws.stage = 7}, default = {nv_tile.aws.stage = 1}>";
    let body = format!(
        "    %a, %o = load_view_tko weak %v[%i] token = %t {hints} : v, tile<i32> -> {TILE}, token
    %s = addf %a, %x {{nv_tile.aws.order = 3 : i32, tileas.schedule.constraint.gid = 2, \
         tileas.schedule.constraint.leader_gid = 1, tileas.schedule.constraint.max_depth = 4, \
         tileas.schedule.constraint.force_serial_execution = true}} : {TILE}
    continue"
    );
    let program = sound(carrying(&[], &body, 90));
    let attributes = |name| program.ops[program.op(name).expect("an operation")].attributes.clone();
    assert_eq!(attributes("load_a").stage, Some(1));
    let sum = attributes("addf_s");
    assert_eq!((sum.order, sum.gid, sum.leader_gid, sum.max_depth), (Some(3), Some(2), Some(1), Some(4)));
    assert!(sum.serial && sum.stage.is_none());
    assert_eq!(attributes("read_a"), Default::default());
}

#[test]
fn reasons_have_lines() {
    let one = |body: &str| refused(carrying(&[], &format!("{body}\n    continue"), 90));
    assert_eq!(one("    %a = invented %x : t"), "line 8: `invented` is not known");
    assert_eq!(one("    %a = addi %i, %i : tile<i32>"), "line 7: nothing works on tiles");
    let remainder = one(&format!("    %a = remf %x, %x : {TILE}"));
    assert_eq!(remainder, "line 8: `remf` cannot be lowered: no count of its instructions is known");
    assert!(one("    %a = addf %n, %n : tile<?xf32>").ends_with("the shape of a tile is not known"));
    assert!(one("    %a = addf %n, %n : tile<4xf64>").ends_with("no rate of f64 is known"));
    let product =
        |ty: &str| format!("    %a = mmaf %x, %x, %zero : tile<8x8x{ty}>, tile<8x8x{ty}>, tile<8x8xf32>");
    assert!(one(&product("f32")).ends_with("the matrix units of sm_90 do not take `f32`"));
    let huge = "    %a, %o = load_view_tko weak %v[%i] token = %t : v, tile<i32> -> tile<1048576x1048576xf32>, token";
    assert!(one(huge).contains("is more than 1048576"), "{}", one(huge));
    let inside = format!(
        "    if %n {{\n      %s = store_view_tko weak %x, %v[%i] token = %t : {TILE}, v, tile<i32> -> token\n    }}"
    );
    assert_eq!(
        one(&format!("{inside}\n    %b = addf %x, %x : {TILE}")),
        "line 9: `store_view_tko` inside an `if`"
    );
    let open =
        format!("  %r = loop iter_values(%a = %x) : {TILE} -> {TILE} {{\n    continue %a : {TILE}\n  }}");
    assert!(refused(loops(&open, 90).remove(0)).contains("left by a condition"));
    assert!(refused(loops(&open, 75).remove(0)).contains("sm_75"));
}

#[test]
fn inner_loops_are_lowered_and_tile_loops_told() {
    let lines = format!(
        "  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %gx, %gy, %gz = get_num_tile_blocks : tile<i32>
  %m = constant <i32: 1000> : tile<i32>
  %tm = constant <i32: 128> : tile<i32>
  %rows = divi %m, %tm signed rounding<positive_inf> : tile<i32>
  %view = make_partition_view %v : partition_view<tile=(64x256), tensor_view<512x2048xf16, strides=[?,1]>>
  %1:2 = get_index_space_shape %view : partition_view<tile=(64x256), tensor_view<512x2048xf16, strides=[?,1]>> -> tile<i32>
  %all = muli %rows, %1#1 : tile<i32>
  for %tile in (%bx to %all, step %gx) : tile<i32> {{
    %r = for %i in (%from to %1#0, step %step) : tile<i32> iter_values(%a = %zero) -> ({TILE}) {{
      %s = addf %a, %x : {TILE}
      continue %s : {TILE}
    }}
  }}"
    );
    let found = loops(&lines, 90);
    assert_eq!(found.len(), 2);
    assert_eq!(refused(found[0].clone()), "line 16: a loop inside");
    let program = sound(found[1].clone());
    assert_eq!((program.name.as_str(), program.trips), ("k.2", Some(2)));
    let shape = Persistent { problem: vec![1000, 2048], tile: vec![128, 256], cluster: vec![1, 1] };
    assert_eq!(program.persistent, Some(shape));
}

#[test]
fn documented_footprints_do_not_depend_on_size() {
    let text = |size| {
        format!(
            "entry @k(%n: tile<i32>, %v: v) {{
  for %i in (%n to %n, step %n) : tile<i32> {{
    %a, %o = load_view_tko weak %v[%i] token = %n : v, tile<i32> -> tile<{size}xf32>, token
    %s = addf %a, %a : tile<{size}xf32>
  }}
}}
"
        )
    };
    let of = |size, model| {
        let module = Module::parse(&text(size)).expect("sound");
        let program = sound(lower(&module, 90, model).remove(0));
        program.ops.values().map(|op| (op.latency, op.holds.clone())).collect::<Vec<_>>()
    };
    assert_eq!(of(64, Model::Documented), of(4096, Model::Documented));
    assert_ne!(of(64, Model::Hardware), of(4096, Model::Hardware));
    let latencies: Vec<u32> = of(64, Model::Documented).iter().map(|op| op.0).collect();
    assert_eq!(latencies, [8, 7, 4]);
}

/// A loop over carried tiles in two parts, on sm_90.
fn in_parts(names: &[&str], body: &str) -> Result<Program, String> {
    let initial: Vec<String> = names.iter().map(|n| format!("%{n} = %big")).collect();
    let text = format!(
        "entry @k(%n: tile<i32>, %v: v, %q: tile<128x64xf16>, %big: tile<128x64xf32>, %row: tile<128x1xf32>, %small: tile<64x64xf32>) {{
  %t = make_token : token
  %c = constant <i1: 1> : tile<i1>
  %r:{} = for %i in (%n to %n, step %n) : tile<i32> iter_values({}) -> ({}) {{
    %p, %o = load_view_tko weak %v[%i] token = %t : v, tile<i32> -> tile<64x64xf16>, token
    %m = mmaf %q, %p, %big : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
{body}
  }}
  return
}}
",
        names.len(),
        initial.join(", "),
        vec!["tile<128x64xf32>"; names.len()].join(", ")
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    // Whole tiles can be lowered, whatever the parts are.
    let whole = sound(lower(&module, 90, Model::Hardware).remove(0));
    let program =
        lower_in_parts(&module, 90, Model::Hardware, 2).remove(0).program.map_err(|e| e.to_string())?;
    // Parts make up the whole: as many bytes, and as much of every resource up to the rounding of each operation.
    let bytes = |p: &Program, storage| -> u64 {
        p.values.values().filter(|v| v.storage == storage).map(|v| v.bytes).sum()
    };
    for storage in Storage::ALL {
        assert_eq!(bytes(&program, storage), bytes(&whole, storage), "{storage}");
    }
    let held = |p: &Program, slot: &str| -> u32 {
        let holds = p.ops.values().flat_map(|o| &o.holds);
        holds.filter(|h| p.resources[h.resource].name == slot).map(|h| h.rows).sum()
    };
    for slot in whole.resources.values() {
        let (a, b) = (held(&whole, &slot.name), held(&program, &slot.name));
        assert!((a..=a + program.ops.len() as u32).contains(&b), "{}: {a} and {b}", slot.name);
    }
    Ok(program)
}

#[test]
fn parts_are_operations_of_their_own() {
    let body = "    %wide = broadcast %row : tile<128x1xf32> -> tile<128x64xf32>
    %scaled = mulf %acc, %wide : tile<128x64xf32>
    %e = exp2 %m : tile<128x64xf32>
    %max = reduce %e dim=1 identities=[0.0 : f32] : tile<128x64xf32> -> tile<128xf32>
    (%lhs: tile<f32>, %rhs: tile<f32>) {
      %x = maxf %lhs, %rhs : tile<f32>
      yield %x : tile<f32>
    }
    %tall = reshape %max : tile<128xf32> -> tile<128x1xf32>
    %all = broadcast %tall : tile<128x1xf32> -> tile<128x64xf32>
    %d = if %c -> (tile<128x64xf32>) {
      %s = subf %e, %all : tile<128x64xf32>
      yield %s : tile<128x64xf32>
    } else {
      yield %e : tile<128x64xf32>
    }
    %h = ftof %d : tile<128x64xf32> -> tile<128x64xf16>
    %new = mmaf %h, %p, %scaled : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    continue %new : tile<128x64xf32>";
    let program = in_parts(&["acc"], body).expect("divided");
    // What is loaded and what comes from before the loop is whole; everything else is of one part.
    assert_eq!(operands(&program, "mma_m.0"), ["q", "p", "big"]);
    assert_eq!(operands(&program, "mulf_scaled.1"), ["new.1[-1]!", "row"]);
    assert_eq!(operands(&program, "mma_new.0"), ["h.0", "p", "scaled.0!"]);
    assert_eq!(operands(&program, "mma_new.1"), ["h.1", "p", "scaled.1!"]);
    let one = program.ops.values().filter(|o| o.name == "load_p").count();
    assert_eq!((one, program.ops.len() % 2), (1, 1), "{}", print(&program));
}

#[test]
fn rows_that_get_lost_keep_tiles_whole() {
    let reduce = "    %s = reduce %m dim=0 identities=[0.0 : f32] : tile<128x64xf32> -> tile<64xf32>
    (%lhs: tile<f32>, %rhs: tile<f32>) {
      %x = addf %lhs, %rhs : tile<f32>
      yield %x : tile<f32>
    }
    continue %acc : tile<128x64xf32>";
    let second = "    %h = ftof %m : tile<128x64xf32> -> tile<128x64xf16>
    %k = permute %q [1, 0] : tile<128x64xf16> -> tile<64x128xf16>
    %n2 = mmaf %k, %h, %small : tile<64x128xf16>, tile<128x64xf16>, tile<64x64xf32>
    continue %acc : tile<128x64xf32>";
    let turned = "    %u = permute %m [1, 0] : tile<128x64xf32> -> tile<64x128xf32>
    %h = ftof %u : tile<64x128xf32> -> tile<64x128xf16>
    %n2 = mmaf %h, %q, %small : tile<64x128xf16>, tile<128x64xf16>, tile<64x64xf32>
    continue %acc : tile<128x64xf32>";
    let mixed = "    %u = reshape %m : tile<128x64xf32> -> tile<64x128xf32>
    %e = exp2 %u : tile<64x128xf32>
    continue %acc : tile<128x64xf32>";
    let stored =
        "    %s = store_view_tko weak %m, %v[%i] token = %t : tile<128x64xf32>, v, tile<i32> -> token
    continue %acc : tile<128x64xf32>";
    for (body, why) in [
        (reduce, "a reduction goes along the rows"),
        (second, "a product multiplies by rows of another"),
        (turned, "rows of one product are columns of another"),
        (mixed, "rows are spread over other axes"),
        (stored, "what works on rows cannot be divided"),
    ] {
        let found = in_parts(&["acc"], body).expect_err(why);
        assert!(found.ends_with(&format!("not in 2 parts: {why}")), "{found}");
    }
    let few =
        sound(carrying(&["acc"], &format!("    %s = addf %acc, %x : {TILE}\n    continue %s : {TILE}"), 90));
    assert_eq!(few.ops.len(), 1);
}

#[test]
fn warps_that_share_rows_meet_at_a_barrier() {
    let reduce = |axis: u32, result: &str| {
        format!(
            "    %s = reduce %x dim={axis} identities=[0.0 : f32] : {TILE} -> {result}
    (%lhs: tile<f32>, %rhs: tile<f32>) {{
      %y = addf %lhs, %rhs : tile<f32>
      yield %y : tile<f32>
    }}
    %e = exp2 %s : {result}
    continue"
        )
    };
    // Along rows, each of which a quad has; and along columns, which all warps have parts of.
    let program = sound(carrying(&[], &reduce(1, "tile<64xf32>"), 90));
    assert_eq!(kinds(&program), ["simt"]);
    let program = sound(carrying(&[], &reduce(0, "tile<64xf32>"), 90));
    assert_eq!(kinds(&program), ["simt", "barrier", "simt"]);
    assert_eq!(operands(&program, "barrier_reduce_s"), ["s_partial"]);
    assert_eq!(operands(&program, "exp2_e"), ["s!"]);
    let partial = program.values.values().find(|v| v.name == "s_partial").map(|v| (v.storage, v.bytes));
    assert_eq!(partial, Some((Storage::Shared, 4 * 64 * 4)));
    let program = sound(carrying_by(&[], &reduce(0, "tile<64xf32>"), 90, Model::Documented));
    assert_eq!(kinds(&program), ["simt", "simt"]);
}

#[test]
fn what_other_blocks_read_comes_from_the_cache() {
    // The cycles for which the share of memory is held.
    let share = |lines: &str, index: &str| {
        let text = format!(
            "entry @k(%n: tile<i32>, %v: v, %w: w) {{
  %t = make_token : token
  %x, %y, %z = get_tile_block_id : tile<i32>
{lines}
  for %i in (%n to %n, step %n) : tile<i32> {{
    %p, %o = load_view_tko weak %v[{index}] token = %t : v, tile<i32> -> tile<64x64xf16>, token
    %s = store_view_tko weak %p, %w[%x, %i] token = %t : tile<64x64xf16>, w, tile<i32> -> token
    continue
  }}
  return
}}"
        );
        let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let program = sound(lower(&module, 90, Model::Hardware).remove(0));
        let op = &program.ops[program.op("load_p").expect("a load")];
        let held = |slot: &str| {
            let of = op.holds.iter().filter(|h| program.resources[h.resource].name == slot);
            of.map(|h| h.rows).sum::<u32>()
        };
        held("tp_gnic_rd")
    };
    let (own, same) = (share("", "%x, %i"), share("", "%i, %i"));
    assert!(own > 4 * same, "{own} {same}");
    // The second number is asked for: blocks that differ in it read the same.
    let both = "  %u = addi %y, %n : tile<i32>";
    assert_eq!(share(both, "%x, %i"), same);
    assert_eq!(share(both, "%x, %u"), own);
    // A quotient is that of several numbers.
    let quotient = "  %q = divi %x, %n signed rounding<zero> : tile<i32>";
    assert_eq!(share(quotient, "%q, %i"), same);
    // One that no block's number is behind is the same for all.
    let other = "  %q = divi %n, %n signed rounding<zero> : tile<i32>";
    assert_eq!(share(other, "%q, %i"), same);
}
