//! SASS control words: stall, yield, scoreboards, wait masks and reuse flags of every encoding.
