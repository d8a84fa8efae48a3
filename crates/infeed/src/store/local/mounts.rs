//! Which network file system a file is on.
//!
//! Reads of a network file system take a round trip each, and hints are no help: several of them keep a cache of their own, or
//! none, so that what a hint brings would be fetched twice.

use std::path::Path;

/// Network file systems by the number that the kernel gives them (`statfs`). FUSE is in the list, because what is behind it is mostly
/// a store that is far away.
const NETWORK: [(u32, &str); 19] = [
    (0x0000_6969, "nfs"),
    (0x0000_517b, "smb"),
    (0xff53_4d42, "smb"),
    (0xfe53_4d42, "smb"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x1983_0326, "beegfs"),
    (0x00c3_6400, "ceph"),
    (0x6573_5546, "fuse"),
    (0x0102_1997, "9p"),
    (0x5346_414f, "afs"),
    (0x6b41_4653, "afs"),
    (0x7375_7245, "coda"),
    (0xaad7_aaea, "panfs"),
    (0xbeef_dead, "snfs"),
    (0x0131_11a8, "ibrix"),
    (0x2003_0528, "orangefs"),
    (0x786f_4256, "vboxsf"),
    (0xbacb_acbc, "vmhgfs"),
];

/// Returns the name of a file system, by its number, if it is a network file system.
fn name_of(number: u32) -> Option<&'static str> {
    NETWORK.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// Returns the kind of network file system that a file is on; `None` for disks and for what cannot be looked at.
#[cfg(target_os = "linux")]
pub(super) fn network(path: &Path) -> Option<&'static str> {
    // Numbers above 2^31 are negative on some processors: the lower half is the same on all.
    name_of(rustix::fs::statfs(path).ok()?.f_type as u32)
}

/// Not known on other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn network(_path: &Path) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        for (number, name) in [(0x6969, "nfs"), (0x0bd0_0bd0, "lustre"), (0x6573_5546, "fuse")] {
            assert_eq!(name_of(number), Some(name));
        }
        assert_eq!(
            name_of(-11_317_950_i64 as u32),
            Some("smb"),
            "a number that is negative on some processors"
        );
        for (number, name) in
            [(0xef53, "ext4"), (0x5846_5342, "xfs"), (0x0102_1994, "tmpfs"), (0x794c_7630, "overlay")]
        {
            assert_eq!(name_of(number), None, "{name} is no network file system");
        }
        let mut numbers: Vec<u32> = NETWORK.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), NETWORK.len());
    }

    #[test]
    fn what_is_not_there_is_on_no_file_system() {
        assert_eq!(network(Path::new("/no/such/file")), None);
        // `/proc` is a file system of its own on every Linux, and not one of the network.
        assert_eq!(network(Path::new("/proc/self")), None);
    }
}
