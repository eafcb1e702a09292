//! CUDA Tile IR: any text ends in a module or in an error with a place; a module prints as a text that is read as the same module.

use sassafras_tileir::cuda::Module;

/// Parses; on success prints, parses again and compares.
pub fn cuda_tile(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let module = match Module::parse(text) {
        Ok(module) => module,
        Err(error) => {
            assert!(error.line >= 1 && error.column >= 1, "{error}");
            assert!(error.line <= text.matches('\n').count() + 1, "{error}");
            return false;
        }
    };
    let printed = module.to_string();
    match Module::parse(&printed) {
        Ok(again) => assert_eq!(again, module),
        Err(error) => panic!("what was printed does not parse: {error}\n{printed}"),
    }
    for operation in module.operations().flat_map(|operation| operation.walk()) {
        let count = operation.result_count();
        assert!(operation.result_type(count).is_none());
        assert!(operation.values().take(9).count() <= count);
        assert!(operation.carried().count() <= operation.operands().len());
    }
    true
}
