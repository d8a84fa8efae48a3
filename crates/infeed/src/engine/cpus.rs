//! How many CPUs this process may really use.

/// CPUs by affinity mask and cgroup quota, at least one. `nproc` of the machine is not the answer in a container.
pub fn usable_cpus() -> usize {
    // Already honours sched_getaffinity and the cgroup quota on Linux.
    infeed_core::parallel::cpus()
}
