//! What is wanted after the loop is there, for every number of trips.

use sassafras_tile::{Options, buffers, generate, materialise, random};
use sassafras_tileir::program::{Program, parse};
use sassafras_tileir::scheduled::Scheduled;
use sassafras_verify::tile::{Limits, Violation, check};

/// What is in the slots of buffers when so many iterations have filled them in turn: does every out have its own?
fn intact(program: &Program, scheduled: &Scheduled, trips: i64) -> bool {
    scheduled.buffers.values().all(|b| {
        let (count, depth) = (b.members.len() as i64, i64::from(b.depth));
        let mut turns: Vec<(i64, usize, i64)> = Vec::new();
        for (m, member) in b.members.iter().enumerate() {
            turns.extend((0..trips).map(|i| (count * (i + i64::from(member.shift)) + m as i64, m, i)));
        }
        turns.sort_unstable();
        let mut slots = vec![None; depth as usize];
        for (turn, m, iteration) in turns {
            slots[(turn % depth) as usize] = Some((m, iteration));
        }
        program.outs.iter().all(|out| {
            let iteration = trips - 1 - i64::from(out.distance);
            let m = b.members.iter().position(|m| m.value == program.origin(out.value));
            m.is_none_or(|m| iteration < 0 || slots.contains(&Some((m, iteration))))
        })
    })
}

fn lost(program: &Program, scheduled: &Scheduled) -> bool {
    let found = check(program, scheduled, &Limits::NONE).err().unwrap_or_default();
    found.iter().any(|v| matches!(v, Violation::Lost { .. }))
}

#[test]
fn random_loops_keep_what_is_wanted() {
    let (mut seen, mut broken) = (0, 0);
    for seed in 0..600 {
        let program = random::program(12, seed);
        let options = Options::default();
        let Ok(generated) = generate(&program, &options) else { continue };
        let Ok(scheduled) = materialise(&program, &generated) else { continue };
        if program.outs.is_empty() {
            continue;
        }
        seen += 1;
        assert!((0..20).all(|n| intact(&program, &scheduled, n)), "{seed}");
        assert!(!lost(&program, &scheduled), "{seed}");
        // Members of a buffer in another order, and fewer slots: whatever is lost then is found.
        for buffer in scheduled.buffers.keys() {
            for change in 0..2 {
                let mut other = scheduled.clone();
                let b = &mut other.buffers[buffer];
                match change {
                    0 => b.members.rotate_left(1),
                    _ => b.depth = (b.depth - 1).max(1),
                }
                let right = (0..40).all(|n| intact(&program, &other, n));
                assert_eq!(lost(&program, &other), !right, "{seed}: {buffer} {change}");
                broken += u32::from(!right);
            }
        }
    }
    assert!(seen > 200 && broken > 20, "{seen} loops, {broken} broken");
}

#[test]
fn a_slot_is_shared_only_until_the_end() {
    let text = |out: &str| {
        format!(
            "loop shared {{
  arch sm_90
  budget register 16384
  value a : register 4096 f32
  value b : register 4096 f32
  op load = simt_load () -> (a) {{ latency 10 }}
  op f = simt (a) -> () {{ latency 10 }}
  op g = simt () -> (b) {{ latency 10 }}
  op h = simt (b) -> () {{ latency 10 }}
  order f -> g
  {out}
}}"
        )
    };
    let slots = |out: &str| {
        let program = parse(&text(out)).expect("a loop").remove(0);
        let generated = generate(&program, &Options::default()).expect("a schedule");
        let scheduled = materialise(&program, &generated).expect("a program");
        check(&program, &scheduled, &Limits::of(buffers::table(&program))).expect("right");
        scheduled.buffers.values().map(|b| b.depth).sum::<u32>()
    };
    assert_eq!(slots(""), 1);
    // The last in the slot stays there, the first does not.
    assert_eq!(slots("out b"), 1);
    assert_eq!(slots("out a"), 2);
    assert_eq!(slots("out b[-1]"), 3);
}

#[test]
fn accumulators_are_wanted_as_they_are_left() {
    let text = |out: &str| {
        format!(
            "loop acc {{
  value p : shared 64 f16
  value scaled : register 64 f32
  value acc : register 64 f32
  op load = tma_load () -> (p) {{ async latency 100 }}
  op scale = simt (acc[-1] in place) -> (scaled) {{ latency 20 }}
  op mma = wgmma (p, scaled in place) -> (acc) {{ in-order latency 50 }}
  {out}
}}"
        )
    };
    assert!(parse(&text("out acc")).is_ok());
    for (out, why) in [
        ("out scaled", "in place"),
        ("out acc[-1]", "in place"),
        ("out nobody", "there is no value `nobody` above"),
        ("out acc[-100000]", "a distance of 100000"),
    ] {
        let error = parse(&text(out)).expect_err(out).to_string();
        assert!(error.contains(why), "{out}: {error}");
    }
}

#[test]
fn nobody_waits_for_a_transfer_that_is_wanted_only_after_the_loop() {
    let text = "loop l {
  value a : shared 64 f16
  op load = tma_load () -> (a) { async latency 100 }
  out a
}";
    let error = parse(text).expect_err("refused").to_string();
    assert!(error.contains("nothing in the loop reads what `load` transfers"), "{error}");
}
