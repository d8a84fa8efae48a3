//! One sentence about the bottleneck, and what to do about it.

use super::Stats;

/// Below this share of waiting the loader keeps up.
const KEEPS_UP: f64 = 0.05;

pub(super) fn of(stats: &Stats) -> String {
    if stats.batches == 0 {
        return "nothing was loaded yet".to_owned();
    }
    if stats.wait_share < KEEPS_UP {
        return format!(
            "the data keeps up: the consumer waited {:.1} % of the time, its own work is the limit",
            stats.wait_share * 100.0
        );
    }
    let waited = format!("the consumer waited {:.0} % of the time", stats.wait_share * 100.0);
    let device = stats.device_share > 0.5;
    let from = format!("{:.0} % of the bytes come from a device", stats.device_share * 100.0);
    let busy = |name: &str| stats.stages.iter().find(|s| s.name == name).map_or(0.0, |s| s.busy);
    let remote = stats.remote.as_ref().filter(|remote| remote.is_waited_for());
    if stats.idle_share < 0.3 {
        let shares = ["decode", "transform", "read"].map(|name| (busy(name), name));
        let (share, name) =
            shares.into_iter().fold((0.0, "decode"), |most, s| if s.0 > most.0 { s } else { most });
        let cure = match name {
            "decode" => "more threads or smaller images on disk would help",
            "read" if remote.is_some() => &remote.map(|remote| remote.why()).unwrap_or_default(),
            "read" if device => {
                &format!("{from}; faster storage, fewer bytes or memory for all of them would help")
            }
            "read" => "the bytes come as fast as memory gives them; more threads or fewer bytes would help",
            _ => "more threads, u8 output normalised on the device, or fewer transforms would help",
        };
        return format!(
            "{waited}: {name} is the limit ({:.0} % of {} busy threads); {cure}",
            share * 100.0,
            stats.threads
        );
    }
    // Workers without work wait for bytes, if somebody does.
    if let Some(remote) = remote {
        return format!("{waited}: {}", remote.why());
    }
    if busy("read") > 0.7 && device {
        return format!(
            "{waited}: reading is the limit; {from}; faster storage, fewer bytes or memory for all of them would help"
        );
    }
    if busy("read") > 0.7 {
        return format!(
            "{waited}: reading is the limit; more io_threads, faster storage or larger shards would help"
        );
    }
    format!(
        "{waited}, yet the threads were idle {:.0} % of it: the run is short or the batches are few; a larger prefetch may help",
        stats.idle_share * 100.0
    )
}
