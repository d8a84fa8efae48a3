//! How many CPUs this process may use.

/// Returns the CPUs allowed by affinity mask and cgroup quota, at least one. In a container the machine has more.
pub fn usable_cpus() -> usize {
    // Already honours sched_getaffinity and the cgroup quota on Linux.
    infeed_core::parallel::cpus()
}
