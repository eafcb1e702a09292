//! One small machine IR for every level: functions, blocks, lanes, memory accesses, text form, analyses.
