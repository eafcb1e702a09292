//! Loops and scheduled loops: any text ends in a file or in an error with a place; a file prints as a text that is read as the
//! same file.

use sassafras_tileir::file;

/// Parses; on success prints, parses again and compares.
pub fn tile_text(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let read = match file::parse(text) {
        Ok(read) => read,
        Err(error) => {
            assert!(error.line >= 1 && error.column >= 1, "{error}");
            assert!(error.line <= text.matches('\n').count() + 1, "{error}");
            return false;
        }
    };
    let printed = file::print(&read);
    match file::parse(&printed) {
        Ok(again) => assert_eq!(again, read),
        Err(error) => panic!("what was printed does not parse: {error}\n{printed}"),
    }
    // What one pass over the program finds, every other can rely on.
    for program in &read.programs {
        assert_eq!(program.check(), Ok(()));
        assert_eq!(program.writers().len(), program.values.len());
    }
    true
}
