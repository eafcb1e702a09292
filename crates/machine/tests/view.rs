//! The serialised view has the promised shape for every architecture.

use std::collections::HashSet;

use sassafras_machine::*;
use serde_json::Value;

fn json(arch: Arch) -> Value {
    serde_json::to_value(view(arch)).unwrap()
}

fn find<'a>(list: &'a Value, key: &str, value: impl Into<Value>) -> &'a Value {
    let value = value.into();
    list.as_array().unwrap().iter().find(|item| item[key] == value).unwrap()
}

#[test]
fn every_architecture_lists_everything() {
    for arch in Arch::all() {
        let view = json(arch);
        assert_eq!(view["schema"], 1);
        assert_eq!(view["arch"], arch.to_string());
        let classes = view["classes"].as_array().unwrap();
        assert_eq!(classes.len(), ClassTable::documented().iter().count());
        for class in classes {
            for key in ["latency", "throughput_inv"] {
                let ok = match &class[key] {
                    Value::Number(_) => true,
                    Value::Object(range) => range["min"].as_u64() < range["max"].as_u64() && range.len() == 2,
                    Value::Null => class["reason"].is_string(),
                    _ => false,
                };
                assert!(ok, "{arch} {class}");
            }
            assert!(class["source"].is_string() && class.get("inherited_from").is_some());
            for (key, reason) in [("unit", "unit_reason"), ("latency_index", "latency_index_reason")] {
                assert_eq!(class[key].is_null(), class[reason].is_string(), "{class}");
            }
            let rule = class["rule"].as_object().unwrap();
            let gaps = rule.values().any(Value::is_null);
            assert!(!gaps || class["rule_reason"].is_string(), "{arch} {class}");
            assert!(!class["opcodes"].as_array().unwrap().is_empty(), "{class}");
        }
        let names = |list: &str| -> HashSet<String> {
            let list = view[list].as_array().unwrap().iter();
            list.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
        };
        let known = names("opcodes");
        for name in classes.iter().flat_map(|class| class["opcodes"].as_array().unwrap()) {
            assert!(known.contains(name.as_str().unwrap()), "{name}");
        }
        let listed: HashSet<_> = classes.iter().map(|class| &class["id"]).collect();
        let rows = view["opcodes"].as_array().unwrap();
        assert_eq!(rows.iter().filter(|row| row["via"] == "table").count(), 74);
        for row in rows {
            assert!(row["class"].is_u64() || row["reason"].is_string(), "{row}");
            assert!(row["latency_index"].is_u64() || row["latency_index_reason"].is_string(), "{row}");
            assert_eq!(row["unit"].is_null(), row["unit_reason"].is_string(), "{row}");
            let variants = row["variants"].as_array().unwrap().iter();
            for class in variants.map(|v| &v["class"]).chain([&row["class"]]) {
                assert!(class.is_null() || listed.contains(class), "{row}");
            }
        }
        assert_eq!(view["units"].as_array().unwrap().len(), 10);
        for row in view["unit_names"].as_array().unwrap() {
            assert!(listed.contains(&row["class"]), "{row}");
        }
        let warp = &view["warp_profile"];
        for key in ["warps", "dispatch_slots", "range"] {
            assert_eq!(warp[key].is_null(), arch == Arch::UNIVERSAL, "{arch} {key}");
        }
        assert!(warp["sm_id"].is_u64() || warp["reason"].is_string(), "{arch}");
        assert!(!view["measured"].as_array().unwrap().is_empty());
    }
}

#[test]
fn hopper_in_detail() {
    let view = json(Arch::SM_90);
    assert_eq!(view["inherits"], Value::Array(Vec::new()));
    let class = find(&view["classes"], "id", 66);
    assert_eq!(class["latency"], serde_json::json!({"min": 48, "max": 74}));
    assert_eq!(class["throughput_inv"], serde_json::json!({"min": 19, "max": 33}));
    assert_eq!(class["row"], serde_json::json!({"min": 66, "max": 67}));
    assert_eq!((&class["unit"], &class["inherited_from"]), (&"DFMA".into(), &Value::Null));
    let class = find(&view["classes"], "id", 72);
    let names: Vec<_> =
        class["opcodes"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(names, ["IMAD_WIDE", "IADD3", "BMSK", "SGXT", "LOP3", "ISETP", "IMAD"]);
    let opcode = find(&view["opcodes"], "name", "SHF");
    assert_eq!((&opcode["class"], &opcode["ori"], &opcode["pipe"]), (&200.into(), &10.into(), &0.into()));
    assert_eq!(opcode["variants"][2]["condition"], "mercury&split=2");
    assert_eq!(find(&view["opcodes"], "name", "FFMA")["via"], "example");
    assert_eq!(find(&view["opcodes"], "name", "I2IP")["ori"], 0x37);
    assert_eq!(find(&view["units"], "unit", "SFU")["ipc"]["max"], 0.25);
    let mufu = find(&view["opcodes"], "name", "MUFU");
    assert_eq!((&mufu["pipe"], &mufu["unit"]), (&8.into(), &"SFU".into()));
    let class = find(&view["classes"], "id", 548);
    assert_eq!(
        (&class["unit"], &class["reason"]),
        (&"SFU".into(), &"the document prints no cost for this class".into())
    );
    let conversion = find(&view["opcodes"], "name", "I2F/PRMT");
    assert_eq!(conversion["names"], serde_json::json!(["I2F", "PRMT"]));
    let sentinel = find(&view["classes"], "id", 772);
    assert_eq!(sentinel["opcodes"], serde_json::json!(["MOV", "SEL"]));
    for (id, index) in [(758, 0xF7), (760, 0xF9), (765, 0xFB), (767, 0xFB), (619, 0xE8)] {
        assert_eq!(find(&view["classes"], "id", id)["latency_index"], index, "{id}");
    }
    let warp = &view["warp_profile"];
    assert_eq!(
        (&warp["warps"], &warp["dispatch_slots"], &warp["sm_id"], &warp["variant"]),
        (&16.into(), &240.into(), &36864.into(), &0.into())
    );
    assert_eq!(view["sub_arch_variants"].as_array().unwrap().len(), 12);
    assert_eq!(view["latency_unit"], "scheduling cost");
}

#[test]
fn inheritance_is_spelled_out() {
    let view = json(Arch::SM_121);
    assert_eq!(view["inherits"], serde_json::json!(["sm_120", "sm_100"]));
    assert_eq!(view["inferred"], true);
    assert_eq!(find(&view["classes"], "id", 72)["inherited_from"], "sm_100");
    let own = json(Arch::SM_80);
    assert_eq!(find(&own["classes"], "id", 2)["rule"]["barrier_latency"], 56);
    assert_eq!(find(&own["classes"], "id", 3)["rule"]["barrier_latency"], Value::Null);
}
