//! Named barriers: the lowest free number first, then the lowest whose users live at other times.
//!
//! Source: `tile-buffers` (second step).

/// A life as a half-open range; ranges that touch do not overlap.
pub type Life = (i64, i64);

/// Numbers for all lives, in order, out of `count`; the position of the first that finds none.
pub fn assign(lives: &[Life], count: u32) -> Result<Vec<u32>, usize> {
    let mut bound: Vec<Vec<Life>> = vec![Vec::new(); count as usize];
    let mut given = Vec::with_capacity(lives.len());
    for (i, life) in lives.iter().enumerate() {
        let unbound = bound.iter().position(Vec::is_empty);
        let apart = || bound.iter().position(|b| b.iter().all(|l| l.1 <= life.0 || life.1 <= l.0));
        let Some(at) = unbound.or_else(apart) else { return Err(i) };
        bound[at].push(*life);
        given.push(at as u32);
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_ones_first_then_those_that_are_free_again() {
        assert_eq!(assign(&[(0, 5), (5, 9), (2, 7)], 3), Ok(vec![0, 1, 2]));
        assert_eq!(assign(&[(0, 5), (3, 9), (5, 7), (9, 12)], 2), Ok(vec![0, 1, 0, 0]));
        assert_eq!(assign(&[(0, 5), (3, 9), (4, 7)], 2), Err(2));
        assert_eq!(assign(&[(0, 1)], 0), Err(0));
        let whole = vec![(0, i64::MAX); 33];
        assert_eq!(assign(&whole, 32), Err(32));
        assert_eq!(assign(&whole[..32], 32).map(|g| g[31]), Ok(31));
    }
}
