//! Why an instruction could not go sooner, in a few words.

use sassafras_analyze::critical::Cause;

/// The words.
pub fn cause(cause: &Cause) -> String {
    match cause {
        Cause::Start => "the iteration starts".to_owned(),
        Cause::Issue { instructions: 1 } => "in order, one per cycle".to_owned(),
        Cause::Issue { instructions } => format!("{instructions} instructions one after the other"),
        Cause::Dependence { hazard, register } => {
            format!("{} {hazard}", register.as_deref().unwrap_or("")).trim().to_owned()
        }
        Cause::Stall => "the stall in front of it".to_owned(),
        Cause::Scoreboard { board } => format!("scoreboard {board}"),
        Cause::Beside => "work beside the warp".to_owned(),
        Cause::Pipe { pipe } => format!("the {pipe} pipe is busy"),
        Cause::Banks => "sources in one register bank".to_owned(),
        Cause::Barrier => "a barrier".to_owned(),
    }
}
