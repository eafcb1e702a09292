//! What the hardware is: architectures, opcodes, scheduling classes, units and latencies, as data.
