//! Binary hardware-profile records: encoder, decoder and assembly order.
