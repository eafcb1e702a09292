//! Small texts.

use super::*;

fn parse(text: &str) -> Module {
    Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Comes back byte by byte.
fn again(text: &str) -> Module {
    let module = parse(text);
    assert_eq!(module.to_string(), text);
    module
}

/// One operation whose operands `%a`, `%b` and `%c` are arguments.
fn one(line: &str) -> Operation {
    let text = format!("entry @k(%a: tile<i32>, %b: tile<i32>, %c: tile<i32>) {{\n  {line}\n}}\n");
    let module = again(&text);
    let entry = module.entries().next().expect("an entry");
    entry.regions[0].operations[0].clone()
}

fn error(text: &str) -> String {
    match Module::parse(text) {
        Ok(module) => panic!("no error: {module:?}"),
        Err(error) => error.to_string(),
    }
}

fn ty(text: &str) -> Type {
    let operation = one(&format!("%x = f : {text}"));
    operation.result_type(0).expect("a type").clone()
}

#[test]
fn types_are_read() {
    let tile = ty("tile<128x64xf8E4M3FN>");
    assert_eq!(tile.as_tile().expect("a tile").shape, [Extent::Static(128), Extent::Static(64)]);
    assert_eq!(tile.as_tile().expect("a tile").bytes(), Some(128 * 64));
    assert_eq!(ty("tile<7xi1>").as_tile().expect("a tile").bytes(), Some(1));
    assert_eq!(ty("tile<ptr<bf16>>").as_tile().expect("a tile").bytes(), Some(8));
    assert_eq!(ty("tile<?xf32>").as_tile().expect("a tile").bytes(), None);
    assert_eq!(ty("tile<4294967296x4294967296xf32>").as_tile().expect("a tile").elements(), None);
    assert!(ty("token").is_token());
    let view = ty(
        "partition_view<tile=(1x64x128), padding_value = neg_inf, tensor_view<?x?x8xf16, strides=[?,?,1]>, dim_map=[0, 2, 1]>",
    );
    let view = view.as_view().expect("a view");
    assert_eq!((&view.tile[..], view.padding.as_deref()), (&[1, 64, 128][..], Some("neg_inf")));
    assert_eq!(view.dim_map.as_deref(), Some(&[0, 2, 1][..]));
    assert_eq!(view.tensor.strides, [Extent::Dynamic, Extent::Dynamic, Extent::Static(1)]);
    let strided =
        ty("strided_view<tile=(8x8), traversal_strides=[4,8], tensor_view<64x64xf32, strides=[64,1]>>");
    assert_eq!(strided.as_view().expect("a view").traversal.as_deref(), Some(&[4, 8][..]));
    let gather = ty("gather_scatter_view<tile=(8x8), tensor_view<64x64xf32, strides=[64,1]>, sparse_dim=1>");
    assert_eq!(gather.as_view().expect("a view").sparse_dim, Some(1));
    assert!(matches!(ty("later<2x4xf32, (1x2), [?, 1], mode = on, ptr<i8>>"), Type::Other { .. }));
    ty("tensor_view<f32>");
}

#[test]
fn arguments_are_read() {
    let mma = one("%x = mmaf %a, %b, %c fast_acc : tile<2x2xf8E5M2>, tile<2x2xf8E5M2>, tile<2x2xf32>");
    assert_eq!(mma.operands().len(), 3);
    assert!(mma.has_word("fast_acc") && !mma.has_word("slow_acc"));
    assert_eq!(mma.result_type(0).expect("a type").to_string(), "tile<2x2xf32>");
    let scaled = one("%x = mmaf_scaled %a, %b, %c, %a, %b : f8, f8, f32, s1, s2");
    assert_eq!(scaled.result_type(0).expect("a type").to_string(), "f32");
    let load = one(
        "%t, %o = load_view_tko weak %a[%b, %c] token = %a hints = <default = {latency = 2}> : v, i -> t, token",
    );
    assert_eq!(load.argument("token").and_then(Attribute::value).expect("a token").name, "a");
    assert_eq!(load.operands().iter().map(|v| &*v.name).collect::<String>(), "abca");
    assert!(load.result_type(1).expect("a type").is_token());
    assert_eq!(load.result_type(2), None);
    let shape = one("%n:2 = get_index_space_shape %a : v -> tile<i32>");
    assert_eq!(shape.result_type(1), shape.result_type(0));
    assert_eq!(shape.values().map(|v| v.to_string()).collect::<Vec<_>>(), ["%n#0", "%n#1"]);
    let elided = one("%x = addf %a, %b  : tile<f32>");
    assert_eq!(elided.arguments()[2].value, Attribute::Default);
    for line in [
        "%x = assume div_by<16>, %a : tile<i32>",
        "%x = assume bounded<0, ?>, %a : tile<i32>",
        "%x = constant <f32: [0xFF800000, -1.500000e+00]> : tile<2xf32>",
        "%x = permute %a [1, 0] : t -> t",
        "%x = mulf %a, %b  flush_to_zero : t",
        "%x, %o = atomic_rmw_tko acq_rel device %a, max, %b, %c token=%a : p, i, m -> i, token",
        "%x = make_tensor_view %a, shape = [%b, 4], strides = [%c, 1] : i -> tensor_view<?x4xf16, strides=[?,1]>",
        "%x = print_tko \"%d \\\"\", %a token=%b : i -> token",
        "%x = get_global @g : t",
        "%x = invented #dialect.mode<a in b> {flag = 1 : i32, other = \"x\"} <2x?xf32> : t -> (t) loc(#loc1)",
        "%x = scan %a dim=0 reverse=false identities=[0 : i32] : t -> t \n  (%l: t, %r: t) {\n    yield %l : t\n  }",
        "return",
    ] {
        one(line);
    }
}

#[test]
fn loops_are_read() {
    let text =
        "%f:2 = for unsigned %i in (%a to %b, step %c) : tile<i32> iter_values(%x = %a, %y = %b) -> (t, u) {
    if %i {
      continue %y, %x : t, u
    } else {
    }
    continue %x, %y : t, u
  }";
    let operation = one(text);
    let header = operation.as_for().expect("a loop");
    assert!(header.unsigned);
    assert_eq!(header.to.name, "b");
    let carried: Vec<_> = operation.carried().map(|(b, v)| (b.ty.to_string(), v.name.clone())).collect();
    assert_eq!(carried, [("t".to_owned(), "a".to_owned()), ("u".to_owned(), "b".to_owned())]);
    assert_eq!(operation.result_type(1).expect("a type").to_string(), "u");
    assert_eq!(operation.operands().len(), 5);
    assert_eq!(operation.regions[0].terminator().expect("one").name, "continue");
    assert_eq!(operation.walk().map(|o| &*o.name).collect::<Vec<_>>(), ["for", "if", "continue", "continue"]);
    assert_eq!(operation.line.0, 2);
    one("for %i in (%a to %b, step %c) : tile<i32> {\n    continue\n  }");
    let plain = one("for %i in (%a to %b, step %c) : tile<i32> {\n    print_tko \"x\" -> token\n  }");
    assert_eq!(plain.regions[0].terminator(), None);
    let open = one("%r = loop iter_values(%x = %a, %y = %b) : t, u -> v {\n    break %x : v\n  }");
    assert_eq!(open.carried().count(), 2);
    one("%r = loop : v {\n    break %a : v\n  }");
    one("loop {\n    break\n  }");
    let both = one("%r = if %a -> (t) {\n    yield %b : t\n  } else {\n    yield %c : t\n  }");
    assert_eq!(both.regions[1].label.as_deref(), Some("else"));
}

#[test]
fn modules_and_debug_information_are_read() {
    let module = again(
        "module @m {
  global @g <f32: 1.000000e+00> : tile<1xf32>
  entry @\"a b\"(%a: t loc(#loc2)) hints=<default = {}> {
    return loc(callsite(#loc at \"x (\":1:2))
  } loc(#loc)
  entry @b() {
    return
  }
}
#loc = loc(\"k.py\":1:0)
#loc2 = #cuda_tile.di_loc<#loc in #sub>
",
    );
    assert_eq!(module.entries().map(|e| e.symbol().expect("a name")).collect::<Vec<_>>(), ["\"a b\"", "b"]);
    assert_eq!(module.items.len(), 3);
    assert_eq!(again("").items.len(), 0);
}

#[test]
fn other_layouts_are_the_same_tree() {
    let text = "// A comment.\nentry @k ( %a : t )\n{\n %x=add %a ,\n%a // more\n : t\n  ->\n t return }";
    let error = error(text);
    assert_eq!(error, "8:4: expected the end of the line, found `return`");
    let module = parse(&text.replace("t return", "t\nreturn"));
    let same = again("entry @k(%a: t) {\n  %x = add %a, %a : t -> t\n  return\n}\n");
    assert_eq!(module, same);
    assert_eq!(Module::parse(&same.to_string()), Ok(same));
}

#[test]
fn errors_have_places() {
    let body = |line: &str| error(&format!("entry @k(%a: t) {{\n  {line}\n}}\n"));
    assert_eq!(body("%x = f %b"), "2:10: `%b` is not defined here");
    assert_eq!(body("%x = f %x"), "2:10: `%x` is not defined here");
    assert_eq!(body("%a = f"), "2:3: `%a` is defined already");
    assert_eq!(body("%x:2 = f\n%y = g %x"), "3:8: `%x` is 2 values: say which");
    assert_eq!(body("%x:2 = f\n%y = g %x#2"), "3:8: `%x` is 2 values");
    assert_eq!(body("%y = g %a#0"), "2:10: `%a` is one value");
    assert_eq!(body("%y:0 = g"), "2:3: no results share this name");
    assert_eq!(body("%y = g : tile<4x f32>"), "2:20: expected a type right behind `x`, found `f32`");
    assert_eq!(body("%y = g : tile<04xf32>"), "2:17: `04` begins with a zero");
    assert_eq!(
        body("%y = g : tile<99999999999999999999xf32>"),
        "2:17: `99999999999999999999` is no number that fits here"
    );
    assert_eq!(body("%y = g [1, ,]"), "2:14: expected an argument, found `,`");
    assert_eq!(
        body("for %i in (%a to %a, step %a) : t iter_values(%c = %a) {\n}"),
        "2:58: 0 types of a loop that has 1"
    );
    assert_eq!(body("for %i in (%a to %a, step %a) : t\nreturn"), "3:1: expected `{`, found `return`");
    assert_eq!(body("é"), "2:3: `\\u{e9}` starts nothing");
    assert_eq!(body("g \"é\" \"é"), "2:9: a string without its end");
    assert_eq!(body("g %"), "2:5: `%` without a name");
    assert_eq!(error("entry @k() {"), "1:13: expected the name of an operation, found the end of the text");
    assert_eq!(error("entry @k()"), "1:11: expected `{`, found the end of the text");
    assert_eq!(error("#a ="), "1:5: expected an attribute, found the end of the text");
    assert_eq!(error("#a = loc(("), "1:11: expected a closing bracket, found the end of the text");
    assert_eq!(error("f loc(("), "1:8: expected `)`, found the end of the text");
    assert_eq!(error("f @a() @b() {\n}"), "1:10: a second signature");
}

#[test]
fn names_end_with_their_region() {
    let both = "if %a {\n    %x = f : t\n  } else {\n    %x = f : t\n  }";
    one(both);
    let text = format!("entry @k(%a: t) {{\n  {both}\n  g %x\n}}\n");
    assert_eq!(error(&text), "7:5: `%x` is not defined here");
}

#[test]
fn depth_has_a_limit() {
    for (start, open) in [("", "f {\n"), ("f ", "["), ("f : ", "tile<"), ("f : ", "a<b<"), ("f ", "a<")] {
        let text = format!("{start}{}", open.repeat(100_000));
        assert!(error(&text).contains("64 brackets"), "{open}");
    }
    again(&format!("f {}{}\n", "[".repeat(60), "]".repeat(60)));
}
