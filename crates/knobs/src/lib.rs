//! Every tuning knob of the five specifications: name, type, default, range, meaning, consumer.
