//! Divides the CPUs of a node fairly among its ranks.

/// Returns how many of the `usable` CPUs a rank should use, at least one.
///
/// `usable` is what affinity and cgroup leave to this process, `machine` what the machine has. If a process may use no
/// more than its share of the machine, the launcher has bound it to that share, and it takes all of it. Otherwise the
/// ranks of the node see the same CPUs: each takes an equal part, and the lowest ranks take one of the remainder each.
pub fn share_of_cpus(usable: usize, machine: usize, local_rank: u64, local_size: u64) -> usize {
    let ranks = usize::try_from(local_size).unwrap_or(usize::MAX).max(1);
    if ranks == 1 || usable <= machine.max(usable).div_ceil(ranks) {
        return usable.max(1);
    }
    let extra = usize::from(local_rank < (usable % ranks) as u64);
    (usable / ranks + extra).max(1)
}

/// Returns the number of online CPUs of this machine, whoever may use them.
pub fn machine_cpus() -> usize {
    std::fs::read_to_string("/sys/devices/system/cpu/online")
        .ok()
        .and_then(|list| count(&list))
        // The file exists on Linux only, and some containers hide it.
        .unwrap_or_else(infeed_core::parallel::cpus)
}

/// Returns how many numbers a list like `0-15,32-47` has.
fn count(list: &str) -> Option<usize> {
    let mut all = 0_usize;
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        all = all.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unbound_ranks_share_all() {
        for ranks in 1..=16_u64 {
            for usable in [1, 2, 7, 16, 30, 96, 128] {
                let shares: Vec<usize> =
                    (0..ranks).map(|rank| share_of_cpus(usable, usable, rank, ranks)).collect();
                assert_eq!(shares.iter().sum::<usize>(), usable.max(ranks as usize), "{usable} / {ranks}");
                assert!(shares.is_sorted_by(|a, b| a >= b) && shares[0] - shares[shares.len() - 1] <= 1);
            }
        }
    }

    #[test]
    fn bound_ranks_take_what_they_were_given() {
        for ranks in 1..=16_u64 {
            for machine in [16, 96, 128] {
                // `srun --cpus-per-task`, and `--cpu-bind=cores` on an uneven machine.
                for given in [1, machine / ranks as usize, machine.div_ceil(ranks as usize)] {
                    for rank in [0, ranks - 1] {
                        assert_eq!(
                            share_of_cpus(given, machine, rank, ranks),
                            given,
                            "{given} of {machine}/{ranks}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_part_of_the_machine_for_all_ranks_is_shared() {
        // Half of a 128-CPU node, four ranks, not bound individually.
        assert_eq!([0, 3].map(|rank| share_of_cpus(66, 128, rank, 4)), [17, 16]);
    }

    #[test]
    fn odd_numbers() {
        assert_eq!(share_of_cpus(0, 0, 0, 0), 1);
        assert_eq!(share_of_cpus(8, 4, 0, 2), 4, "a machine with fewer CPUs than may be used");
        assert_eq!(share_of_cpus(8, 8, 9, u64::MAX), 1);
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!([count("0-15,32-47\n"), count("0"), count("0,2-3")], [Some(32), Some(1), Some(3)]);
        assert_eq!([count(""), count("a"), count("3-1"), count("1-")], [None; 4]);
        assert!(machine_cpus() >= 1);
    }
}
