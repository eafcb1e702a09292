//! The documented cost model: latency queries, stalls, resource vectors, pipe classes, dual issue.
